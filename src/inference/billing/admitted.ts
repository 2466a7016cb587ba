import type { Clock } from "../../kernel/clock.ts";
import type { Hex } from "../../kernel/text/hex.ts";
import type { Provider } from "../providers/provider.ts";
import { ProviderFailure } from "../providers/provider-failure.ts";
import type { RequestTrace } from "../requests/request-trace.ts";
import type { Refused } from "../routing/choice.ts";
import type { AdmissionRequest } from "./admission-request.ts";
import type { Usage } from "./pricing.ts";

/** The caller of a request, and the request's id. */
export type Caller = { readonly account: string; readonly keyId: string; readonly requestId: string };

/** How a request ended. `usage` is what is billed; undefined means that nothing was delivered. */
export type Ending = {
  readonly outcome: "completed" | "failed" | "aborted";
  readonly usage?: Usage | undefined;
  readonly estimated?: boolean;
  readonly errorCode?: string;
  /** The provider that answered. Defaults to the one that was tried last. */
  readonly provider?: Provider;
  /** The provider's own id of the answer. */
  readonly answerId?: string | undefined;
};

/** A bill as the client sees it in `x_0g_trace`, decimal strings of neuron (facts 1.3). */
export type Trace = {
  readonly request_id: string;
  readonly provider: string;
  readonly billing: {
    readonly input_cost: string;
    readonly output_cost: string;
    readonly total_cost: string;
  };
  /** Whether the provider's signature is valid; present only if verification was requested. */
  readonly tee_verified?: boolean;
};

/** One attempt at a provider and its outcome. */
export type AttemptRecord = {
  readonly provider: Hex;
  readonly outcome: "answered" | "failed" | "aborted";
  /** The kind of failure. */
  readonly reason?: string;
  /** The HTTP status of the failure. */
  readonly status?: number;
  readonly durationMs: number;
};

/**
 * The routing of a request: its attempts in order, and the providers not used, with reasons. Stored with the request.
 */
export type Routing = { readonly attempts: readonly AttemptRecord[]; readonly refused: readonly Refused[] };

/** What the attempts of a request came to, when it ends. */
export type AttemptSummary = {
  /** The provider that was tried last, or the first candidate. */
  readonly provider: Provider;
  readonly routing: Routing;
  readonly firstByteMs: number | undefined;
  readonly durationMs: number;
};

/**
 * A request that was admitted: `heldNeuron` is held for it, and its `candidates` are chosen, in order, at most three.
 * It records its attempts, and must be settled once, by `BillingService.settle`.
 */
export class Admitted {
  readonly requestId: string;
  readonly request: AdmissionRequest;
  readonly candidates: readonly Provider[];
  readonly trace: RequestTrace | undefined;
  readonly #heldNeuron: bigint;
  readonly #refused: readonly Refused[];
  readonly #clock: Clock;
  readonly #startedMs: number;
  readonly #attempts: AttemptRecord[] = [];
  #open: { readonly provider: Provider; readonly sinceMs: number } | undefined;
  #last: Provider | undefined;
  #firstByteMs: number | undefined;
  #isDelivered = false;

  constructor(given: {
    requestId: string;
    request: AdmissionRequest;
    candidates: readonly Provider[];
    refused: readonly Refused[];
    heldNeuron: bigint;
    clock: Clock;
    startedMs: number;
    trace?: RequestTrace | undefined;
  }) {
    this.requestId = given.requestId;
    this.request = given.request;
    this.candidates = given.candidates;
    this.trace = given.trace;
    this.#heldNeuron = given.heldNeuron;
    this.#refused = given.refused;
    this.#clock = given.clock;
    this.#startedMs = given.startedMs;
  }

  /** Whether the answer's signature is to be verified: then its bill needs the answer's id. */
  get isVerified(): boolean {
    return this.request.verifyTee === true;
  }

  /** The body to send to this candidate. */
  bodyFor(provider: Provider): Buffer {
    return this.request.body(provider, this.#heldNeuron);
  }

  /** Records the start of an attempt at this provider. */
  beginAttempt(provider: Provider): void {
    this.#open = { provider, sinceMs: this.#sinceStart() };
    this.trace?.beginAttempt(provider);
    this.#last = provider;
    if (!this.#isDelivered) this.#firstByteMs = undefined;
  }

  /** Records the arrival of the provider's first byte. */
  markFirstByte(): void {
    this.#firstByteMs ??= this.#sinceStart();
  }

  /** Records that the client has received content: later attempts no longer reset the time to first byte. */
  markDelivered(): void {
    this.#isDelivered = true;
  }

  /** Records the outcome of the current attempt. A no-op if it is already recorded. */
  endAttempt(outcome: AttemptRecord["outcome"], error?: unknown): void {
    if (!this.#open) return;
    const { provider, sinceMs } = this.#open;
    this.#open = undefined;
    this.trace?.endAttempt(outcome, error);
    const { kind, upstreamStatus } = error instanceof ProviderFailure ? error : {};
    this.#attempts.push({
      provider: provider.address,
      outcome,
      ...(kind !== undefined && { reason: kind }),
      ...(upstreamStatus !== undefined && { status: upstreamStatus }),
      durationMs: this.#sinceStart() - sinceMs,
    });
  }

  /** Ends the attempt in progress with this outcome, and sums up all attempts. */
  summarize(outcome: Ending["outcome"]): AttemptSummary {
    this.endAttempt(outcome === "completed" ? "answered" : outcome);
    const provider = this.#last ?? this.candidates[0];
    if (!provider) throw new Error("a request was admitted without a candidate");
    return {
      provider,
      routing: { attempts: this.#attempts, refused: this.#refused },
      firstByteMs: this.#firstByteMs,
      durationMs: this.#sinceStart(),
    };
  }

  #sinceStart(): number {
    return Math.round(this.#clock.monotonicMs() - this.#startedMs);
  }
}
