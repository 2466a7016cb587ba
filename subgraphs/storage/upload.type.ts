import "../shared/schema/reflect.ts";
import { Field, InputType, Int, ObjectType } from "type-graphql";
import type { Hex } from "../../src/kernel/text/hex.ts";
import type { PutOutcome } from "../../src/storage/node/storage-node.ts";
import type { SubmitAbi as Abi } from "../../src/storage/upload-plan.ts";
import { PreparedTransactionType } from "../shared/prepared-transaction.type.ts";
import { defineEnum } from "../shared/schema/enumeration.ts";
import {
  AddressScalar,
  BigIntScalar,
  Hash32Scalar,
  HexScalar,
  NeuronScalar,
} from "../shared/schema/scalars.ts";
import { SegmentProofType } from "./file.type.ts";

/** Which way of submitting. */
const SubmitAbi = defineEnum<Abi>("SubmitAbi", "Which of Flow's two ways of submitting.", {
  current: "The one of today, which names a submitter.",
  legacy: "The one of before 2026.",
});

/** A node of a submission. */
@InputType("SubmissionNodeInput", { description: "A block of a file's merkle tree." })
export class SubmissionNodeInput {
  @Field(() => Hash32Scalar, { description: "Its root." })
  root!: Hex;

  @Field(() => Int, { description: "The logarithm of how many chunks of 256 bytes it spans." })
  height!: number;
}

/** What is to be stored. */
@InputType("PrepareUploadInput", {
  description:
    "What is to be stored: its content, or its size with the nodes of its merkle tree, or with its root where that is the only node.",
})
export class PrepareUploadInput {
  @Field(() => String, { nullable: true, description: "The whole content in base64." })
  content?: string | null;

  @Field(() => BigIntScalar, { nullable: true, description: "How many bytes it has." })
  size?: string | null;

  @Field(() => Hash32Scalar, { nullable: true, description: "Its merkle root." })
  root?: Hex | null;

  @Field(() => [SubmissionNodeInput], {
    nullable: true,
    description: "The nodes of its submission, largest first, as clients of the network compute them.",
  })
  nodes?: readonly SubmissionNodeInput[] | null;

  @Field(() => HexScalar, { nullable: true, description: "What to note with it on the chain." })
  tags?: Hex | null;

  @Field(() => AddressScalar, { description: "Who will send the transaction." })
  from!: Hex;

  @Field(() => SubmitAbi, { nullable: true, description: "The ABI of the submission. Default: `CURRENT`." })
  abi?: Abi | null;

  @Field(() => Boolean, {
    defaultValue: false,
    description: "Whether to submit, and pay, once more what the chain has already.",
  })
  again!: boolean;
}

/** A node of a submission. */
@ObjectType("SubmissionNode", { description: "A block of a file's merkle tree.", simpleResolvers: true })
class SubmissionNodeType {
  @Field(() => Hash32Scalar, { description: "Its root." })
  root!: string;

  @Field(() => Int, { description: "The logarithm of how many chunks of 256 bytes it spans." })
  height!: number;
}

/** What an upload takes. */
@ObjectType("PreparedUpload", {
  description: "What an upload takes: one transaction, unless the chain has the file, then its segments.",
  simpleResolvers: true,
})
export class PreparedUploadType {
  @Field(() => Hash32Scalar, { description: "The file's merkle root." })
  root!: string;

  @Field(() => BigIntScalar, { description: "How many bytes it has." })
  size!: bigint;

  @Field(() => Int, { description: "How many segments of 256 KiB are to be uploaded." })
  segments!: number;

  @Field(() => BigIntScalar, { description: "Sectors of 256 bytes that are paid for, padding included." })
  sectors!: bigint;

  @Field(() => [SubmissionNodeType], { description: "What is submitted of its merkle tree." })
  nodes!: readonly SubmissionNodeType[];

  @Field(() => Boolean, { description: "Whether the chain has it, so that it need not be paid for again." })
  alreadySubmitted!: boolean;

  @Field(() => Boolean, { description: "Whether all of it is here as well, so that nothing is left to do." })
  alreadyFinalized!: boolean;

  @Field(() => NeuronScalar, { description: "What storing it costs; 0 when there is nothing to pay." })
  fee!: bigint;

  @Field(() => PreparedTransactionType, {
    nullable: true,
    description: "The transaction that submits it; null when there is nothing to pay.",
  })
  transaction!: PreparedTransactionType | null;

  @Field(() => [SegmentProofType], {
    nullable: true,
    description: "The proof of each segment, for its upload; null where no content was sent.",
  })
  proofs!: readonly SegmentProofType[] | null;
}

/** What proves a segment. */
@InputType("SegmentProofInput", { description: "The way from a segment of a file to the file's root." })
class SegmentProofInput {
  @Field(() => [Hash32Scalar], {
    description: "The segment's padded root, its siblings from the bottom up, and the file's root.",
  })
  lemma!: readonly Hex[];

  @Field(() => [Boolean], { description: "Of each sibling, whether it lies to the right." })
  path!: readonly boolean[];
}

/** A segment that is uploaded. */
@InputType("SegmentInput", { description: "A segment of a file that the chain has." })
export class SegmentInput {
  @Field(() => Hash32Scalar, { nullable: true, description: "The file's root; this or `txSeq`." })
  root?: Hex | null;

  @Field(() => BigIntScalar, { nullable: true, description: "One of the file's submissions." })
  txSeq?: string | null;

  @Field(() => Int, { description: "Which segment, from 0." })
  index!: number;

  @Field(() => String, {
    description:
      "Its bytes in base64: 262,144, of the last segment as many whole chunks of 256 as it fills, padded with zeros.",
  })
  data!: string;

  @Field(() => SegmentProofInput, { description: "What proves it." })
  proof!: SegmentProofInput;
}

/** What became of a segment. */
export const SegmentOutcome = defineEnum<PutOutcome["kind"]>(
  "SegmentOutcome",
  "What became of an uploaded segment.",
  {
    stored: "It is kept.",
    duplicate: "It was here before.",
    finalized: "All of its file was here before.",
  },
);
