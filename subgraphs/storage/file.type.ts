import "../shared/schema/reflect.ts";
import { Directive, Field, ID, Int, ObjectType } from "type-graphql";
import type { FileProgress } from "../../src/events/topics.ts";
import { defineConnection } from "../shared/schema/connection.ts";
import { defineEnum } from "../shared/schema/enumeration.ts";
import { BigIntScalar, Hash32Scalar } from "../shared/schema/scalars.ts";

/** How a file stands. */
export const FileStatus = defineEnum<FileProgress["status"]>("FileStatus", "How a file stands.", {
  uploading: "Segments of it came, and the chain has no submission of it yet.",
  submitted: "The chain has it, and segments of it are missing.",
  finalized: "The chain has it and all of it is here: it can be read.",
  pruned: "It was here and was dropped.",
  removed: "The chain took its submission back.",
});

/** A file. The rest of its fields are resolved. */
@Directive('@key(fields: "root")')
@ObjectType("File", {
  description: "A file that was submitted to the storage network, once or several times.",
  simpleResolvers: true,
})
export class FileType {
  @Field(() => ID, { description: "Its root." })
  id!: string;

  @Field(() => Hash32Scalar, { description: "Its merkle root." })
  root!: string;

  @Field(() => BigIntScalar, { description: "The sequence number of its first submission." })
  firstTxSeq!: bigint;
}

/** A list of files. */
export const FileConnection = defineConnection("File", () => FileType);

/** A node that has segments of a file. */
@ObjectType("StorageLocation", { description: "A node that has segments of a file.", simpleResolvers: true })
export class StorageLocationType {
  @Field(() => String, { description: "Where it answers JSON-RPC." })
  url!: string;

  @Field(() => Int, {
    description: "Which segments of the flow it has: those whose number, modulo `numShard`, is this.",
  })
  shardId!: number;

  @Field(() => Int, { description: "Among how many nodes the flow is divided, a power of two." })
  numShard!: number;

  @Field(() => Int, {
    description: "Its recent latency, milliseconds. 0 without a recent request.",
  })
  latencyMs!: number;
}

/** What proves a segment. */
@ObjectType("SegmentProof", {
  description: "The way from a segment of a file to the file's root.",
  simpleResolvers: true,
})
export class SegmentProofType {
  @Field(() => [Hash32Scalar], {
    description: "The segment's padded root, its siblings from the bottom up, and the file's root.",
  })
  lemma!: readonly string[];

  @Field(() => [Boolean], { description: "Of each sibling, whether it lies to the right." })
  path!: readonly boolean[];
}
