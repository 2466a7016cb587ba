import type { Hex } from "../../kernel/text/hex.ts";
import type { CachedAnswer } from "../answer-cache/cache-request.ts";
import type { Provider } from "../providers/provider.ts";
import type { Refused } from "../routing/choice-context.ts";
import type { Usage } from "./pricing.ts";
import type { Trace } from "./trace.ts";

/** How a request ended. `usage` is what is billed; undefined means that nothing was delivered. */
export type Ending = {
  readonly outcome: "completed" | "failed" | "aborted";
  readonly usage?: Usage | undefined;
  readonly estimated?: boolean;
  readonly errorCode?: string;
  /** Whether nothing of the answer was sent yet, so that it is not charged if its client gets an error instead. */
  readonly isUndelivered?: boolean;
  /** The provider that answered. Defaults to the one that was tried last. */
  readonly provider?: Provider;
  /** The provider's own id of the answer. */
  readonly answerId?: string | undefined;
  /** Why the answer ended, as the provider stated it. */
  readonly finishReason?: string | undefined;
  /** Hashes the decoded images of the answer, in order. */
  readonly imageHashes?: (() => Promise<readonly string[]>) | undefined;
  /** The last bytes that the client will be sent, if this is the bill; all of them if nothing was sent yet. */
  readonly closing?: ((bill: Trace) => Buffer | Promise<Buffer>) | undefined;
};

/** One attempt at a provider and its outcome. */
export type AttemptRecord = {
  readonly provider: Hex;
  /** The model that was requested; present only if the request named several. */
  readonly model?: string;
  readonly outcome: "answered" | "failed" | "aborted";
  /** The kind of failure. */
  readonly reason?: string;
  /** The HTTP status of the failure. */
  readonly status?: number;
  /** When the attempt began, after the start of the admission; absent in requests of earlier versions, and of jobs. */
  readonly startMs?: number;
  readonly durationMs: number;
};

/**
 * The routing of a request: its attempts in order, the providers not used, with reasons, and how it was answered. Stored
 * with the request.
 */
export type Routing = {
  readonly attempts: readonly AttemptRecord[];
  readonly refused: readonly Refused[];
  /** From the request's arrival to the start of its admission: authentication, and reading the body. Over REST only. */
  readonly receivedMs?: number;
  /** What the admission took: the choice of providers, and the hold. Absent in requests of earlier versions. */
  readonly admittedMs?: number;
  /** Whether its client was sent the answer as a stream; absent in requests of earlier versions. */
  readonly streamed?: boolean;
  /** Why the answer ended, as the provider stated it; absent if it did not, or the request was not completed. */
  readonly finishReason?: string;
  /** The provider that probably had the prompt cached when the request was admitted. */
  readonly cachedBy?: Hex;
  /** The request whose stored answer was returned; absent if a provider answered. */
  readonly cachedFrom?: string;
  /** The provider's own id of the response that it keeps, for requests that continue it. */
  readonly keptResponse?: string;
  /** See `RecordedCost.wholeInputCost`, neuron; absent in requests of earlier versions. */
  readonly inputCost?: string;
};

/** A stored answer that a request gets, and the candidate that gave it. */
export type Served = { readonly cached: CachedAnswer; readonly provider: Provider };

/** What the attempts of a request came to, when it ends. */
export type AttemptSummary = {
  /** The provider that was tried last, or the first candidate. */
  readonly provider: Provider;
  readonly routing: Routing;
  readonly firstByteMs: number | undefined;
  readonly durationMs: number;
};
