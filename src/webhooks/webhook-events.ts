import type { BatchProgress, DomainEvent, JobStep, SealedKeyPublished, Topic } from "../events/topics.ts";
import { shownBatchId } from "../inference/batches/batch-id.ts";
import type { Action } from "../keys/auth/permissions.ts";

/** The topic that an event of a webhook comes from, and the permission to read it; null for public data. */
type Source = { readonly topic: Topic; readonly read: Action | null };

const JOB = { topic: "job.progressed", read: "job.read" } as const;
const DEPOSIT = { topic: "deposit.seen", read: "deposit.read" } as const;
const API_KEY = { topic: "key.changed", read: "api-key.read" } as const;
const MANAGEMENT_KEY = { topic: "key.changed", read: "management-key.read" } as const;
const SEALED_KEY = { topic: "sealed-key.published", read: null } as const;

/** Every event that a webhook may receive. Who may receive it is who may subscribe to its topic. */
const SOURCES = {
  "job.progressed": JOB,
  "job.ended": JOB,
  "deposit.seen": DEPOSIT,
  "deposit.credited": DEPOSIT,
  "deposit.reverted": DEPOSIT,
  "balance.low": { topic: "balance.changed", read: "balance.read" },
  "api_key.created": API_KEY,
  "api_key.updated": API_KEY,
  "api_key.revoked": API_KEY,
  "api_key.limit_reached": { topic: "key-limit.reached", read: "api-key.read" },
  "tag_budget.limit_reached": { topic: "tag-budget.reached", read: "tag-budget.read" },
  "management_key.created": MANAGEMENT_KEY,
  "management_key.updated": MANAGEMENT_KEY,
  "management_key.revoked": MANAGEMENT_KEY,
  "sealed_key.published": SEALED_KEY,
  "sealed_key.reverted": SEALED_KEY,
  "webhook.disabled": { topic: "webhook.disabled", read: "webhook.read" },
} as const satisfies Record<string, Source>;

/** The name of an event of a webhook: the `type` of its payload. */
export type WebhookEvent = keyof typeof SOURCES;

export const WEBHOOK_EVENTS = Object.keys(SOURCES) as [WebhookEvent, ...WebhookEvent[]];

/** The event of a test delivery; no webhook subscribes to it. */
export const TEST_EVENT = "webhook.test";

/** The topics of these events, each once. */
export function topicsOf(events: readonly WebhookEvent[]): readonly Topic[] {
  return [...new Set(events.map((event) => SOURCES[event].topic))];
}

/** The topic whose events may mean that a key or a tag has reached its limit, and those that say so. */
export const LIMIT_TOPICS = {
  cause: "balance.changed",
  key: "key-limit.reached",
  tag: "tag-budget.reached",
} as const;

/** The permission to read an event; null if managing webhooks suffices. */
export function readActionOf(event: WebhookEvent): Action | null {
  return SOURCES[event].read;
}

/** What of a webhook decides what it receives. `isBelow`: its balance was below the threshold before this event. */
export type Interest = {
  readonly id: string;
  readonly events: readonly WebhookEvent[];
  /** Neuron. */
  readonly balanceThreshold: bigint | null;
  readonly isBelow: boolean;
};

/** What a webhook receives of an event; `data` is JSON in the spelling of the REST API. */
export type Message = { readonly type: WebhookEvent; readonly data: object };

/** What a webhook receives of an event, if anything, and whether the balance is below the threshold after it. */
export function readEvent(
  event: DomainEvent,
  interest: Interest,
): { readonly message: Message | undefined; readonly isBelow: boolean } {
  if (event.topic === "balance.changed") return readBalance(event, interest);
  const message = messageOf(event, interest);
  const isWanted = message !== undefined && interest.events.includes(message.type);
  return { message: isWanted ? message : undefined, isBelow: interest.isBelow };
}

function messageOf(event: DomainEvent, { id }: Interest): Message | undefined {
  switch (event.topic) {
    case "job.progressed":
      return { type: isEnded(event.data) ? "job.ended" : "job.progressed", data: jobData(event.data) };
    case "deposit.seen": {
      const { depositId, amount, status } = event.data;
      const type = status === "confirmed" ? "deposit.credited" : (`deposit.${status}` as const);
      return { type, data: { deposit_id: depositId, amount, status } };
    }
    case "key.changed": {
      const { keyId, kind, change } = event.data;
      const noun = kind === "api-key" ? "api_key" : "management_key";
      return { type: `${noun}.${change}`, data: { key_id: keyId } };
    }
    case "key-limit.reached": {
      const { keyId, percent, used, creditLimit } = event.data;
      return {
        type: "api_key.limit_reached",
        data: { key_id: keyId, percent, used, credit_limit: creditLimit },
      };
    }
    case "tag-budget.reached": {
      const { budgetId, name, value, percent, used, creditLimit } = event.data;
      const data = { budget_id: budgetId, name, value, percent, used, credit_limit: creditLimit };
      return { type: "tag_budget.limit_reached", data };
    }
    case "sealed-key.published": {
      const type = event.data.removed ? "sealed_key.reverted" : "sealed_key.published";
      return { type, data: sealedKeyData(event.data) };
    }
    case "webhook.disabled": {
      const { webhookId, name, reason } = event.data;
      if (webhookId === id) return undefined;
      return { type: "webhook.disabled", data: { webhook_id: webhookId, name, reason } };
    }
    default:
      return undefined;
  }
}

/** The held part counts as balance, so that a request in progress is not mistaken for spending. */
function readBalance(
  { data: { deposit, credit } }: DomainEvent<"balance.changed">,
  { events, balanceThreshold: threshold, isBelow: wasBelow }: Interest,
): ReturnType<typeof readEvent> {
  if (threshold === null || !events.includes("balance.low")) return { message: undefined, isBelow: false };
  const balance = BigInt(deposit) + BigInt(credit);
  const isBelow = balance < threshold;
  if (!isBelow || wasBelow) return { message: undefined, isBelow };
  const data = { balance: String(balance), deposit, credit, threshold: String(threshold) };
  return { message: { type: "balance.low", data }, isBelow };
}

function isEnded({ status }: JobStep): boolean {
  return status !== "pending" && status !== "processing";
}

function jobData(step: JobStep): object {
  return {
    job_id: step.jobId,
    key_id: step.keyId,
    status: step.status,
    step: step.step,
    step_sequence: step.sequence,
    provider: step.provider,
    attempt: step.attempt,
    fraction: step.fraction,
    result: step.result,
    error_code: step.errorCode,
    error_message: step.errorMessage,
    ...(step.batch && { batch: batchData(step.jobId, step.batch) }),
  };
}

function batchData(jobId: string, { status, total, completed, failed }: BatchProgress): object {
  return { id: shownBatchId(jobId), status, request_counts: { total, completed, failed } };
}

function sealedKeyData(sealed: SealedKeyPublished): object {
  return {
    sealed_key_id: sealed.sealedKeyId,
    contract: sealed.contract,
    token_id: sealed.tokenId,
    from: sealed.from,
    to: sealed.to,
    cause: sealed.cause,
    keys:
      sealed.keys?.map(({ dataHash, key, sizeBytes, truncated }) => ({
        data_hash: dataHash,
        key,
        size_bytes: sizeBytes,
        truncated,
      })) ?? null,
    key_count: sealed.keyCount,
    block_number: sealed.blockNumber,
    block_hash: sealed.blockHash,
    transaction_hash: sealed.transactionHash,
    log_index: sealed.logIndex,
  };
}
