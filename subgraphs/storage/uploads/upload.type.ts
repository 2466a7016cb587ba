import "../../shared/schema/reflect.ts";
import { Field, InputType, Int, ObjectType } from "type-graphql";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import type { PutOutcome } from "../../../src/storage/node/storage-node.ts";
import type { SubmitAbi as Abi } from "../../../src/storage/uploads/upload-plan.ts";
import { PreparedTransactionType } from "../../shared/prepared-transaction.type.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import {
  AddressScalar,
  BigIntScalar,
  Hash32Scalar,
  HexScalar,
  NeuronScalar,
} from "../../shared/schema/scalars.ts";
import { SegmentProofType } from "../files/file.type.ts";

/** The ABI of the submission. */
const SubmitAbi = defineEnum<Abi>("SubmitAbi", "The ABI of the Flow contract's submission method.", {
  current: "The current ABI, which names a submitter.",
  legacy: "The ABI before 2026.",
});

/** A node of a submission. */
@InputType("SubmissionNodeInput", { description: "A node of a file's merkle tree in a submission." })
export class SubmissionNodeInput {
  @Field(() => Hash32Scalar, { description: "The node's merkle root." })
  root!: Hex;

  @Field(() => Int, { description: "The node's height: it spans 2^height sectors of 256 bytes." })
  height!: number;
}

/** A file to store. */
@InputType("PrepareUploadInput", {
  description:
    "A file to store. Give its `content`; or its `sizeBytes` and the `nodes` of its merkle tree, or its `root` if that is the only node.",
})
export class PrepareUploadInput {
  @Field(() => String, { nullable: true, description: "The file's whole content in base64." })
  content?: string | null;

  @Field(() => BigIntScalar, { nullable: true, description: "The file's size in bytes." })
  sizeBytes?: string | null;

  @Field(() => Hash32Scalar, { nullable: true, description: "The file's merkle root." })
  root?: Hex | null;

  @Field(() => [SubmissionNodeInput], {
    nullable: true,
    description: "The nodes of the submission, largest first, as clients of the network compute them.",
  })
  nodes?: readonly SubmissionNodeInput[] | null;

  @Field(() => HexScalar, { nullable: true, description: "The tags to attach on chain." })
  tags?: Hex | null;

  @Field(() => AddressScalar, { description: "The account that will send the transaction." })
  from!: Hex;

  @Field(() => SubmitAbi, { nullable: true, description: "The ABI of the submission. Default: `CURRENT`." })
  abi?: Abi | null;

  @Field(() => Boolean, {
    defaultValue: false,
    description: "Whether to submit and pay again for a file that is already submitted on chain.",
  })
  again!: boolean;
}

/** A node of a submission. */
@ObjectType("SubmissionNode", {
  description: "A node of a file's merkle tree in a submission.",
  simpleResolvers: true,
})
class SubmissionNodeType {
  @Field(() => Hash32Scalar, { description: "The node's merkle root." })
  root!: string;

  @Field(() => Int, { description: "The node's height: it spans 2^height sectors of 256 bytes." })
  height!: number;
}

/** A prepared upload. */
@ObjectType("PreparedUpload", {
  description:
    "A prepared upload: a transaction, unless the file is already submitted on chain, and then the file's segments.",
  simpleResolvers: true,
})
export class PreparedUploadType {
  @Field(() => Hash32Scalar, { description: "The file's merkle root." })
  root!: string;

  @Field(() => BigIntScalar, { description: "The file's size in bytes." })
  sizeBytes!: bigint;

  @Field(() => Int, { description: "The number of 256 KiB segments to upload." })
  segmentCount!: number;

  @Field(() => BigIntScalar, { description: "The number of 256-byte sectors to pay for, including padding." })
  sectorCount!: bigint;

  @Field(() => [SubmissionNodeType], { description: "The nodes of the file's merkle tree to submit." })
  nodes!: readonly SubmissionNodeType[];

  @Field(() => Boolean, {
    description: "Whether the file is already submitted on chain and need not be paid for again.",
  })
  alreadySubmitted!: boolean;

  @Field(() => Boolean, {
    description: "Whether all segments are stored as well, so that nothing is left to do.",
  })
  alreadyFinalized!: boolean;

  @Field(() => NeuronScalar, { description: "The storage fee. 0 if there is nothing to pay." })
  fee!: bigint;

  @Field(() => PreparedTransactionType, {
    nullable: true,
    description: "The transaction that submits the file. Null if there is nothing to pay.",
  })
  transaction!: PreparedTransactionType | null;

  @Field(() => [SegmentProofType], {
    nullable: true,
    description: "The merkle proof of each segment, for its upload. Null if no content was sent.",
  })
  proofs!: readonly SegmentProofType[] | null;
}

/** The merkle proof of a segment. */
@InputType("SegmentProofInput", {
  description: "A merkle proof: the path from a segment to the file's root.",
})
class SegmentProofInput {
  @Field(() => [Hash32Scalar], {
    description:
      "The root of the segment, the siblings from the bottom up, and the file's root. The root of the segment covers 1,024 chunks of 256 bytes, with zeros after the data, or fewer at the end of the padded file. A file is padded to a multiple of a sixteenth of the smallest power of two that is at least the number of its chunks (of 1, if that power is below 16).",
  })
  lemma!: readonly Hex[];

  @Field(() => [Boolean], { description: "For each sibling, whether it is on the right." })
  path!: readonly boolean[];
}

/** A segment to upload. */
@InputType("UploadSegmentInput", { description: "A segment of a file that is submitted on chain." })
export class UploadSegmentInput {
  @Field(() => Hash32Scalar, { nullable: true, description: "The file's merkle root. Give this or `txSeq`." })
  root?: Hex | null;

  @Field(() => BigIntScalar, {
    nullable: true,
    description: "The sequence number of one of the file's submissions. Give this or `root`.",
  })
  txSeq?: string | null;

  @Field(() => Int, { description: "0-based index of the segment." })
  index!: number;

  @Field(() => String, {
    description:
      "The segment's bytes in base64: 262,144 bytes. The last segment has as many 256-byte sectors as its data fills, padded with zeros.",
  })
  data!: string;

  @Field(() => SegmentProofInput, { description: "The segment's merkle proof." })
  proof!: SegmentProofInput;
}

/** The outcome of uploading a segment. */
export const SegmentOutcome = defineEnum<PutOutcome["kind"]>(
  "SegmentOutcome",
  "The outcome of uploading a segment.",
  {
    stored: "The segment was stored.",
    duplicate: "The segment was already stored.",
    finalized: "The whole file was already stored.",
  },
);
