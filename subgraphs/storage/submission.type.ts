import "../shared/schema/reflect.ts";
import { Field, ObjectType } from "type-graphql";
import type { SubmissionsService } from "../../src/storage/submissions.service.ts";
import { defineConnection } from "../shared/schema/connection.ts";
import { BigIntScalar, DateTimeScalar, Hash32Scalar, HexScalar } from "../shared/schema/scalars.ts";

/** A submission as its service gives it. */
export type Submission = NonNullable<Awaited<ReturnType<SubmissionsService["find"]>>>;

/** A submission. The rest of its fields are resolved. */
@ObjectType("Submission", {
  description: "One entry of a file in the log of the storage network.",
  simpleResolvers: true,
})
export class SubmissionType {
  @Field(() => BigIntScalar, { description: "Its transaction sequence number: 0 for the network's first." })
  txSeq!: bigint;

  @Field(() => BigIntScalar, { description: "The position of the file's first sector in the flow." })
  startEntryIndex!: bigint;

  @Field(() => HexScalar, { description: "What the sender noted with it." })
  tags!: string;

  @Field(() => Hash32Scalar, { description: "The transaction that submitted it." })
  transactionHash!: string;

  @Field(() => BigIntScalar, { description: "The block of that transaction." })
  blockNumber!: bigint;

  @Field(() => DateTimeScalar, { description: "When we first saw it." })
  seenAt!: Date;
}

/** A list of submissions. */
export const SubmissionConnection = defineConnection("Submission", () => SubmissionType);
