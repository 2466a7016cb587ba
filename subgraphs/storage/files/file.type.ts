import "../../shared/schema/reflect.ts";
import { Directive, Field, Int, ObjectType } from "type-graphql";
import type { FileProgress } from "../../../src/events/topics.ts";
import { defineNodeResolvers, NodeType } from "../../shared/nodes/node.type.ts";
import { defineCountedConnection } from "../../shared/schema/connection.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import { BigIntScalar, Hash32Scalar } from "../../shared/schema/scalars.ts";

/** The status of a file. */
export const FileStatus = defineEnum<FileProgress["status"]>("FileStatus", "The status of a file.", {
  uploading: "Segments were uploaded, but the file has no submission on chain yet.",
  submitted: "The file is submitted on chain, but segments are missing.",
  finalized: "The file is submitted on chain and all segments are stored: it can be downloaded.",
  pruned: "The file was stored and has been pruned.",
  removed:
    "A reorg removed the file's submission. Only `fileProgress` reports it: `file` finds no such file.",
});

/** A file. The rest of its fields are resolved. */
@Directive('@key(fields: "root")')
@Directive('@key(fields: "id")')
@ObjectType("File", {
  description: "A file that was submitted to the storage network, once or several times.",
  implements: NodeType,
  simpleResolvers: true,
})
export class FileType {
  @Field(() => Hash32Scalar, { description: "The file's merkle root." })
  root!: string;

  @Field(() => BigIntScalar, { description: "The sequence number of the file's first submission." })
  firstTxSeq!: bigint;
}

/** The global id of a file. */
export const FileNodeResolvers = defineNodeResolvers<{ readonly root: string }>(() => FileType, {
  name: "File",
  keyOf: ({ root }) => root,
});

/** A list of files. */
export const FileConnection = defineCountedConnection("File", () => FileType);

/** A node that stores segments of a file. */
@ObjectType("StorageLocation", {
  description: "A node that stores segments of a file.",
  simpleResolvers: true,
})
export class StorageLocationType {
  @Field(() => String, { description: "The node's JSON-RPC URL." })
  url!: string;

  @Field(() => Int, {
    description:
      "The node's shard: it stores the segments of the network's log whose index modulo `shardCount` is this number.",
  })
  shardId!: number;

  @Field(() => Int, {
    name: "shardCount",
    simple: false,
    description: "The number of shards of the network's log, a power of two.",
  })
  numShard!: number;

  @Field(() => Int, {
    description: "The node's recent latency, in milliseconds. 0 without a recent request.",
  })
  latencyMs!: number;
}

/** The merkle proof of a segment. */
@ObjectType("SegmentProof", {
  description: "A merkle proof: the path from a segment to the file's root.",
  simpleResolvers: true,
})
export class SegmentProofType {
  @Field(() => [Hash32Scalar], {
    description:
      "The root of the segment, the siblings from the bottom up, and the file's root. The root of the segment covers 1,024 chunks of 256 bytes, with zeros after the data, or fewer at the end of the padded file. A file is padded to a multiple of a sixteenth of the smallest power of two that is at least the number of its chunks (of 1, if that power is below 16).",
  })
  lemma!: readonly string[];

  @Field(() => [Boolean], { description: "For each sibling, whether it is on the right." })
  path!: readonly boolean[];
}
