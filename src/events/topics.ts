import type { Hex } from "../kernel/text/hex.ts";

/**
 * The list of all topics. A topic is `noun.verb` in the past tense; events of one topic are ordered per subject (an
 * account, a job, a file). Amounts are decimal strings of neuron.
 */
export type TopicPayloads = {
  /** Subject: account address. The balance after the change; `held` is part of `deposit` and `credit`. */
  "balance.changed": {
    account: string;
    cause: BalanceCause;
    deposit: string;
    credit: string;
    held: string;
    requestId: string | null;
  };
  /** Subject: account address. */
  "deposit.seen": {
    account: string;
    depositId: string;
    amount: string;
    status: "seen" | "confirmed" | "reverted";
  };
  /** Subject: account address. */
  "key.changed": {
    account: string;
    keyId: string;
    kind: "api-key" | "management-key";
    change: "created" | "updated" | "revoked";
  };
  /** Subject: account address. A key has used this part of its credit limit in its current period. */
  "key-limit.reached": {
    account: string;
    keyId: string;
    percent: 80 | 100;
    used: string;
    creditLimit: string;
  };
  /** Subject: account address. Requests with a tag have used this part of its budget in the current period. */
  "tag-budget.reached": {
    account: string;
    budgetId: string;
    name: string;
    value: string;
    percent: 80 | 100;
    used: string;
    creditLimit: string;
  };
  /** Subject: account address. A webhook is no longer delivered to, and not by its owner's choice. */
  "webhook.disabled": { account: string; webhookId: string; name: string; reason: WebhookFault };
  /** Subject: account address. The unused part of allotments is needed elsewhere, or their key was changed. */
  "allotment.recalled": { account: string };
  /** Subject: provider address. An operator closed its circuits, or pauses it, in every process. */
  "circuit.changed": { provider: string; change: "closed" | "paused"; seconds: number };
  /** Subject: account address. Steps of one job arrive in order, numbered by `sequence` from 1 without gaps. */
  "job.progressed": JobStep;
  /** Subject: file root. */
  "file.submitted": { root: string; txSeq: string; size: string; removed: boolean };
  /** Subject: receiver's address. */
  "sealed-key.published": SealedKeyPublished;
  /** Subject: the token, `<contract>:<token id>`. */
  "token.transferred": TokenTransferred;
  /** Subject: the token, `<contract>:<token id>`. */
  "order.fulfilled": OrderFulfilled;
  /** Subject: file root. Steps of one file arrive in order, numbered by `sequence` from 1 without gaps. */
  "file.progressed": FileProgress;
  /** Subject: stream id. A transaction was committed to the stream, or reorged out with its block. */
  "kv.committed": { streamId: string; txSeq: string; root: string; sender: string; removed: boolean };
};

/** Why a webhook was disabled: failing for 24 h, 410 Gone, or an event that expired before it was delivered. */
export type WebhookFault = "failing" | "gone" | "expired";
export type BalanceCause = "deposit" | "hold" | "settlement" | "release" | "credit";
/** A step of a job. `attempt` counts the providers tried so far; `result` is where the result can be read. */
export type JobStep = {
  account: string;
  /** The `sk-` key that created the job. */
  keyId: string | null;
  jobId: string;
  sequence: number;
  status: "pending" | "processing" | "completed" | "failed" | "cancelled";
  step: JobStepName;
  provider: string | null;
  attempt: number;
  /** From 0 to 1, when the provider reports it. */
  fraction: number | null;
  result: string | null;
  errorCode: string | null;
  errorMessage: string | null;
  /** The progress of a batch; absent in the steps of other jobs. */
  batch?: BatchProgress;
};

/**
 * The status of a batch and how many of its lines have ended, as OpenAI counts them. `cost` is what they were charged,
 * neuron; absent from an earlier version.
 */
export type BatchProgress = {
  status: string;
  total: number;
  completed: number;
  failed: number;
  cost?: string;
};

/** The status of a file. `txSeq` is its submission, null before the chain has one. */
export type FileProgress = {
  root: string;
  sequence: number;
  status: "uploading" | "submitted" | "finalized" | "pruned" | "removed";
  txSeq: string | null;
  segments: number;
  uploadedSegments: number;
};

export type JobStepName =
  | "queued"
  | "started"
  | "resumed"
  | "submitted"
  | "running"
  | "provider_failed"
  | "completed"
  | "failed"
  | "cancelled";
/** Keys were sealed for `to`; with `removed`, reorged out. `keys` is null when they are long: fetch them by id. */
export type SealedKeyPublished = {
  sealedKeyId: string;
  contract: Hex;
  tokenId: string;
  from: Hex | null;
  to: Hex;
  cause: SealedKeyCause;
  keys: readonly SealedKeyEntry[] | null;
  keyCount: number;
  blockNumber: string;
  logIndex: number;
  blockHash: Hex;
  transactionHash: Hex;
  removed: boolean;
};
export type SealedKeyCause = "transfer" | "clone" | "mint";
/** The key of one piece of data. `sizeBytes` is its length on chain; longer keys are truncated to 4 KiB. */
export type SealedKeyEntry = {
  readonly dataHash: Hex | null;
  readonly key: Hex;
  readonly sizeBytes: number;
  readonly truncated: boolean;
};
/** A token was transferred: minted from the zero address, burned to it. With `removed`, it was reorged out. */
export type TokenTransferred = {
  contract: Hex;
  tokenId: string;
  from: Hex;
  to: Hex;
  withKey: boolean;
  blockNumber: string;
  logIndex: number;
  transactionHash: Hex;
  removed: boolean;
};

/**
 * A marketplace order was fulfilled; with `removed`, reorged out. The price is in the smallest unit of `currency`, an
 * ERC-20 contract; null is the network's native token.
 */
export type OrderFulfilled = {
  market: Hex;
  contract: Hex;
  tokenId: string;
  seller: Hex;
  buyer: Hex;
  price: string;
  currency: Hex | null;
  blockNumber: string;
  logIndex: number;
  transactionHash: Hex;
  removed: boolean;
};
export type Topic = keyof TopicPayloads;

export const TOPICS = [
  "balance.changed",
  "deposit.seen",
  "key.changed",
  "key-limit.reached",
  "tag-budget.reached",
  "webhook.disabled",
  "allotment.recalled",
  "circuit.changed",
  "job.progressed",
  "file.submitted",
  "sealed-key.published",
  "token.transferred",
  "order.fulfilled",
  "file.progressed",
  "kv.committed",
] as const satisfies readonly Topic[];

/**
 * One event, as written in the transaction that caused it. `position` grows with every published event and is the
 * resume cursor; `id` never changes, so that a reader can detect a duplicate delivery.
 */
export type DomainEvent<T extends Topic = Topic> = {
  [K in T]: {
    readonly id: string;
    readonly position: bigint;
    readonly topic: K;
    readonly subject: string;
    readonly at: Date;
    readonly data: TopicPayloads[K];
  };
}[T];
