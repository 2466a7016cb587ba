import "../../shared/schema/reflect.ts";
import { Directive, Field, ObjectType } from "type-graphql";
import type { SubmissionsService } from "../../../src/storage/submissions/submissions.service.ts";
import { defineNodeResolvers, NodeType } from "../../shared/nodes/node.type.ts";
import { defineCountedConnection } from "../../shared/schema/connection.ts";
import { BigIntScalar, DateTimeScalar, Hash32Scalar, HexScalar } from "../../shared/schema/scalars.ts";

/** A submission as its service returns it. */
export type Submission = NonNullable<Awaited<ReturnType<SubmissionsService["find"]>>>;

/** A submission. The rest of its fields are resolved. */
@Directive('@key(fields: "id")')
@ObjectType("Submission", {
  description: "A submission of a file: one entry of the storage network's log.",
  implements: NodeType,
  simpleResolvers: true,
})
export class SubmissionType {
  @Field(() => BigIntScalar, { description: "The submission's transaction sequence number, from 0." })
  txSeq!: bigint;

  @Field(() => BigIntScalar, {
    description:
      "The position of the file's first sector in the network's log of all files, in sectors of 256 bytes.",
  })
  startEntryIndex!: bigint;

  @Field(() => HexScalar, { description: "The tags that the sender attached." })
  tags!: string;

  @Field(() => Hash32Scalar, { description: "The hash of the submission's transaction." })
  transactionHash!: string;

  @Field(() => BigIntScalar, { description: "The number of the transaction's block." })
  blockNumber!: bigint;

  @Field(() => DateTimeScalar, { description: "When the submission was first seen by this service." })
  seenAt!: Date;
}

/** The global id of a submission. */
export const SubmissionNodeResolvers = defineNodeResolvers<Submission>(() => SubmissionType, {
  name: "Submission",
  keyOf: ({ txSeq }) => txSeq.toString(),
});

/** A list of submissions. */
export const SubmissionConnection = defineCountedConnection("Submission", () => SubmissionType);
