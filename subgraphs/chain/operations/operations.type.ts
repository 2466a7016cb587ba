import "../../shared/schema/reflect.ts";
import { Field, Float, Int, ObjectType } from "type-graphql";
import type { LedgerCheck } from "../../../src/accounts/ledger.service.ts";
import type { Deliveries, Queues } from "../../../src/operations/operations.service.ts";
import type { DisabledReason } from "../../../src/webhooks/webhook.ts";
import { AddressScalar, BigIntScalar, DateTimeScalar } from "../../shared/schema/scalars.ts";
import { WebhookDisabledReason } from "../../shared/webhook-disabled-reason.type.ts";

/** Unfinished jobs of one kind. */
@ObjectType("JobQueue", {
  description: "The unfinished jobs of one kind. The queues of all kinds together are counted to 10,000.",
  simpleResolvers: true,
})
class JobQueueType {
  @Field(() => String, { description: "The kind of the jobs, such as `batch`." })
  kind!: string;

  @Field(() => Int, { description: "The jobs that no worker has started." })
  waitingCount!: number;

  @Field(() => Int, { description: "The jobs that workers carry out." })
  runningCount!: number;

  @Field(() => Float, { description: "The age of the oldest waiting job. 0 if none waits." })
  oldestWaitingSeconds!: number;
}

/** The work that waits for a process. */
@ObjectType("OperationQueues", { description: "The work that waits for a process.", simpleResolvers: true })
export class OperationQueuesType {
  @Field(() => [JobQueueType], { description: "Unfinished jobs, by kind. A kind without any is missing." })
  jobs!: readonly JobQueueType[];

  @Field(() => Int, { description: "The events that are not published yet, counted to 10,000." })
  unpublishedEventCount!: number;

  @Field(() => Float, { description: "The age of the oldest unpublished event. 0 if there is none." })
  oldestUnpublishedSeconds!: number;

  @Field(() => BigIntScalar, { description: "The position of the newest published event." })
  newestEventPosition!: bigint;

  @Field(() => BigIntScalar, {
    description: "How many published events are not matched with webhooks yet.",
  })
  unmatchedEventCount!: bigint;
}

/** A webhook that is not delivered to. */
@ObjectType("FaultyWebhook", {
  description: "A webhook of any account whose receiver fails, or that is disabled.",
  simpleResolvers: true,
})
class FaultyWebhookType {
  @Field(() => String, { description: "The webhook's id, for `enableFaultyWebhook`." })
  webhookId!: string;

  @Field(() => AddressScalar, { description: "The address of the webhook's account." })
  accountAddress!: string;

  @Field(() => String, { description: "Its name." })
  name!: string;

  @Field(() => String, {
    description: "The host and port of the webhook's URL, without the path, which may be a secret.",
  })
  host!: string;

  @Field(() => Int, { description: "The number of consecutive failed attempts." })
  failureCount!: number;

  @Field(() => DateTimeScalar, { description: "When the webhook began to fail, or was disabled." })
  startedAt!: Date;

  @Field(() => WebhookDisabledReason, {
    nullable: true,
    description: "Why the webhook is disabled. Null while it is enabled.",
  })
  disabledReason!: DisabledReason | null;
}

/** How webhooks fare. */
@ObjectType("OperationWebhooks", {
  description: "The state of the webhooks of all accounts. Each number is counted to 10,000.",
  simpleResolvers: true,
})
export class OperationWebhooksType {
  @Field(() => Int, { description: "Enabled webhooks with events that wait for their delivery." })
  pendingCount!: number;

  @Field(() => Int, { description: "Enabled webhooks whose last attempt failed." })
  failingCount!: number;

  @Field(() => Int, { description: "Disabled webhooks." })
  disabledCount!: number;

  @Field(() => Float, {
    description: "The age of the oldest event that waits for its delivery. 0 if none waits.",
  })
  oldestWaitingSeconds!: number;

  @Field(() => [FaultyWebhookType], {
    description:
      "The failing webhooks, longest failing first, and the disabled ones, most recently disabled first. At most 20 of each.",
  })
  faulty!: readonly FaultyWebhookType[];
}

/** A fault of the ledger. */
@ObjectType("LedgerFault", { description: "An inconsistency of the ledger.", simpleResolvers: true })
class LedgerFaultType {
  @Field(() => String, { description: "What is wrong." })
  fault!: string;

  @Field(() => String, { description: "The transfer, account, deposit or request at fault." })
  subject!: string;
}

/** The result of a check of the ledger. */
@ObjectType("LedgerCheck", {
  description: "The result of a check of the ledger, by the command `ledger:verify` or by `verifyLedger`.",
  simpleResolvers: true,
})
export class LedgerCheckType {
  @Field(() => DateTimeScalar, { description: "When the check ended." })
  endedAt!: Date;

  @Field(() => Int, { description: "How long the check took." })
  durationMs!: number;

  @Field(() => Boolean, {
    description: "Whether every row was read, not only those added since the last check.",
  })
  full!: boolean;

  @Field(() => BigIntScalar, { description: "The number of transfers that were read." })
  transferCount!: bigint;

  @Field(() => Int, { description: "The number of faults. 0 if the ledger is exact." })
  faultCount!: number;

  @Field(() => [LedgerFaultType], { description: "The first 20 faults." })
  faults!: readonly LedgerFaultType[];
}

/** The state of the service. All of its fields are resolved. */
@ObjectType("Operations", {
  description: "The state of this service across all of its processes, for its operators.",
  simpleResolvers: true,
})
export class OperationsType {}

/** Maps the queues to their GraphQL type. */
export function toQueues(queues: Queues): OperationQueuesType {
  return {
    jobs: queues.jobs.map(({ kind, waiting, running, oldestWaitingSeconds }) => ({
      ...{ kind, waitingCount: waiting, runningCount: running, oldestWaitingSeconds },
    })),
    unpublishedEventCount: queues.unpublished,
    oldestUnpublishedSeconds: queues.oldestUnpublishedSeconds,
    newestEventPosition: queues.position,
    unmatchedEventCount: queues.unmatched,
  };
}

/** Maps the state of webhooks to its GraphQL type. */
export function toWebhooks(deliveries: Deliveries): OperationWebhooksType {
  const { pending, failing, disabled, oldestWaitingSeconds, faulty } = deliveries;
  return {
    pendingCount: pending,
    failingCount: failing,
    disabledCount: disabled,
    oldestWaitingSeconds,
    faulty: faulty.map(({ id, account, name, host, failures, since, disabledReason }) => ({
      ...{ webhookId: id, accountAddress: account, name, host, failureCount: failures },
      ...{ startedAt: since, disabledReason },
    })),
  };
}

/** Maps the result of a check to its GraphQL type. */
export function toLedgerCheck(check: LedgerCheck): LedgerCheckType {
  const { endedAt, durationMs, isFull, transfers, faultCount, faults } = check;
  return { endedAt, durationMs, full: isFull, transferCount: BigInt(transfers), faultCount, faults };
}
