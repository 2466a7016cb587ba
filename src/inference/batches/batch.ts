import type { BatchProgress } from "../../events/topics.ts";
import type { JobView } from "../../jobs/job-view.store.ts";

/** The job kind of batches. */
export const BATCH_JOB = "batch";

/** The endpoints whose requests a batch may consist of. */
export const BATCH_ENDPOINTS = [
  "/v1/chat/completions",
  "/v1/responses",
  "/v1/embeddings",
  "/v1/completions",
] as const;
export type BatchEndpoint = (typeof BATCH_ENDPOINTS)[number];

/** The statuses of a batch, as OpenAI names them. The last four are final. */
export const BATCH_STATUSES = [
  "validating",
  "in_progress",
  "finalizing",
  "cancelling",
  "completed",
  "failed",
  "expired",
  "cancelled",
] as const;
export type BatchStatus = (typeof BATCH_STATUSES)[number];

/** What is wrong with a batch; `line` is the 1-based number of the line in the input file. */
export type BatchError = {
  readonly code: string;
  readonly message: string;
  readonly param: string | null;
  readonly line: number | null;
};

/** Why the lines that are left are not run: how the batch ends then, and the error of each of them. */
export type EndReason = {
  readonly status: "failed" | "expired" | "cancelled";
  readonly code: string;
  readonly message: string;
};

/** The reason of a batch whose completion window has ended. */
export const EXPIRED: EndReason = {
  status: "expired",
  code: "batch_expired",
  message: "This request could not be executed before the completion window expired.",
};

/** When a batch came to a status, ISO 8601. */
export type BatchTimes = Partial<Readonly<Record<Exclude<BatchStatus, "validating">, string>>>;

/** A batch, apart from its job. Counts are of lines. */
export type BatchState = {
  readonly endpoint: BatchEndpoint;
  readonly inputFileId: string;
  readonly outputFileId: string;
  readonly errorFileId: string;
  readonly status: BatchStatus;
  readonly endReason: EndReason | null;
  readonly metadata: Readonly<Record<string, string>> | null;
  readonly errors: readonly BatchError[];
  readonly lines: number;
  readonly completed: number;
  readonly failed: number;
  /** What its requests were charged so far, neuron, and their tokens. */
  readonly cost: bigint;
  readonly inputTokens: bigint;
  /** The part of the input that providers read from their caches. */
  readonly cachedTokens: bigint;
  readonly outputTokens: bigint;
  /** The part of the output that is reasoning. */
  readonly reasoningTokens: bigint;
  readonly times: BatchTimes;
};

/** A batch as its owner sees it. A file is null if it has no content, or is not complete yet. */
export type Batch = Omit<BatchState, "outputFileId" | "errorFileId" | "endReason"> & {
  readonly id: string;
  readonly account: string;
  readonly keyId: string;
  readonly outputFileId: string | null;
  readonly errorFileId: string | null;
  readonly createdAt: Date;
  /** The end of the completion window. */
  readonly expiresAt: Date;
  readonly job: JobView;
};

/** The completion window, and how long it is. */
export const COMPLETION_WINDOW = "24h";
export const WINDOW_SECONDS = 86_400;

/** Whether a batch has ended. */
export function hasEnded(status: BatchStatus): boolean {
  return status === "completed" || status === "failed" || status === "expired" || status === "cancelled";
}

/** What the events of a batch say of it. */
export function progressOf({
  status,
  lines: total,
  completed,
  failed,
  cost,
}: Pick<BatchState, "status" | "lines" | "completed" | "failed" | "cost">): BatchProgress {
  return { status, total, completed, failed, cost: cost.toString() };
}
