import "../../shared/schema/reflect.ts";
import { Directive, Field, ID, InputType, Int, ObjectType } from "type-graphql";
import type { DomainEvent } from "../../../src/events/topics.ts";
import { type Batch, type BatchStatus, progressOf } from "../../../src/inference/batches/batch.ts";
import { shownBatchId } from "../../../src/inference/batches/batch-id.ts";
import { type CursorSource, EventType, toEvent } from "../../shared/events/event.type.ts";
import { defineNodeResolvers, NodeType } from "../../shared/nodes/node.type.ts";
import { defineCountedConnection } from "../../shared/schema/connection.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import { BigIntScalar, DateTimeScalar, JsonScalar, NeuronScalar } from "../../shared/schema/scalars.ts";
import { PayloadType } from "../../shared/user-errors.ts";

/** The status of a batch. */
export const BatchStatusEnum = defineEnum<BatchStatus>(
  "BatchStatus",
  "The status of a batch. `COMPLETED`, `FAILED`, `EXPIRED` and `CANCELLED` are final.",
  {
    validating: "The input file waits to be checked, or is being checked.",
    in_progress: "The requests are being sent.",
    finalizing: "All requests have ended, and the files are being completed.",
    cancelling: "No more requests are sent; those that were sent are being answered.",
    completed: "All requests have ended. Failed ones are in the error file.",
    failed: "The input file is not valid, or the key ended; `errors` state why.",
    expired: "The completion window ended before all requests were sent.",
    cancelled: "The batch was cancelled.",
  },
);

/** An error of a batch. */
@ObjectType("BatchError", { description: "What is wrong with a batch.", simpleResolvers: true })
export class BatchErrorType {
  @Field(() => String, { description: "The error code, as in the REST API." })
  code!: string;

  @Field(() => String, { description: "The error message, for people." })
  message!: string;

  @Field(() => String, { nullable: true, description: "The invalid member of the line. Null if none." })
  param!: string | null;

  @Field(() => Int, {
    nullable: true,
    description: "The 1-based number of the line in the input file. Null if the error concerns no line.",
  })
  line!: number | null;
}

/** A batch. The rest of its fields are resolved. */
@Directive('@key(fields: "id")')
@ObjectType("Batch", {
  description: "A batch of inference requests, created over the REST API (`POST /v1/batches`).",
  implements: NodeType,
  simpleResolvers: true,
})
export class BatchType {
  @Field(() => String, {
    description: "The endpoint of the batch's requests, such as `/v1/chat/completions`.",
  })
  endpoint!: string;

  @Field(() => BatchStatusEnum, { description: "The batch's status." })
  status!: BatchStatus;

  @Field(() => [BatchErrorType], {
    description: "Why the batch failed: at most 100 errors. Empty unless failed.",
  })
  errors!: readonly BatchErrorType[];

  @Field(() => JsonScalar, {
    nullable: true,
    description: "The batch's metadata: strings by name. Null if none.",
  })
  metadata!: unknown;

  @Field(() => NeuronScalar, { description: "The amount charged so far for the answered requests." })
  cost!: bigint;

  @Field(() => BigIntScalar, {
    description: "The total number of prompt tokens of the answered requests so far.",
  })
  inputTokens!: bigint;

  @Field(() => BigIntScalar, {
    description: "The part of `inputTokens` that providers read from their caches.",
  })
  cachedTokens!: bigint;

  @Field(() => BigIntScalar, {
    description: "The total number of output tokens of the answered requests so far.",
  })
  outputTokens!: bigint;

  @Field(() => BigIntScalar, {
    description: "The part of `outputTokens` that the providers report as reasoning.",
  })
  reasoningTokens!: bigint;

  @Field(() => DateTimeScalar, { description: "When the batch was created." })
  createdAt!: Date;

  @Field(() => DateTimeScalar, { description: "When the batch's completion window ends." })
  expiresAt!: Date;
}

/** The global id of a batch, and its raw id. */
export const BatchNodeResolvers = defineNodeResolvers<Batch>(() => BatchType, {
  name: "Batch",
  keyOf: ({ id }) => shownBatchId(id),
  raw: { field: "batchId", description: "The batch's id in the REST API: `id`." },
});

/** A list of batches. */
export const BatchConnection = defineCountedConnection("Batch", () => BatchType);

/** A batch to cancel. */
@InputType("CancelBatchInput", { description: "A batch to cancel." })
export class CancelBatchInput {
  @Field(() => ID, { description: "The batch's id." })
  id!: string;
}

/** A cancelled batch. */
@ObjectType("CancelBatchPayload", {
  description: "The result of `cancelBatch`. Its other fields are null if there are `userErrors`.",
  simpleResolvers: true,
})
export class CancelBatchPayload extends PayloadType {
  @Field(() => BatchType, { nullable: true, description: "The batch, cancelled or being cancelled." })
  batch?: Batch | null;
}

/** A change of a batch. */
@ObjectType("BatchEvent", {
  description: "A change of a batch's status or counts.",
  implements: EventType,
  simpleResolvers: true,
})
export class BatchEventType extends EventType {
  @Field(() => String, { description: "The batch's raw id." })
  batchId!: string;

  @Field(() => Int, {
    description: "1-based sequence number of the change within its batch. It only increases.",
  })
  sequence!: number;

  @Field(() => BatchStatusEnum, { description: "The batch's status after the change." })
  status!: BatchStatus;

  @Field(() => Int, { description: "The number of requests. 0 until the input file is checked." })
  requestCount!: number;

  @Field(() => Int, { description: "The number of requests that were answered, and charged." })
  completedCount!: number;

  @Field(() => Int, {
    description: "The number of requests that failed or were not sent, and were not charged.",
  })
  failedCount!: number;

  @Field(() => NeuronScalar, { description: "What the answered requests were charged." })
  cost!: bigint;
}

const UNCHECKED = { status: "validating", lines: 0, completed: 0, failed: 0, cost: 0n } as const;

/** Maps a step of a batch to its GraphQL type. */
export function toBatchEvent(event: DomainEvent<"job.progressed">, cursors: CursorSource): BatchEventType {
  const { jobId, sequence, batch } = event.data;
  const { status, total, completed, failed, cost = "0" } = batch ?? progressOf(UNCHECKED);
  return {
    ...toEvent(event, cursors),
    batchId: shownBatchId(jobId),
    sequence,
    status: status as BatchStatus,
    requestCount: total,
    completedCount: completed,
    failedCount: failed,
    cost: BigInt(cost),
  };
}
