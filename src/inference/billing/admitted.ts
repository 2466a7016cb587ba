import type { Hex } from "../../kernel/text/hex.ts";
import type { Provider } from "../providers/provider.ts";
import { ProviderFailure } from "../providers/provider-failure.ts";
import type { RequestTrace } from "../requests/request-trace.ts";
import type { Refused } from "../routing/choice.ts";
import { billedOf, type Cost, costOf, type Usage } from "./pricing.ts";

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

/** What is written when a request ends. */
export type Bill = {
  readonly ending: Ending;
  readonly cost: Cost;
  readonly provider: Provider;
  readonly routing: Routing;
  readonly firstByteMs: number | undefined;
  readonly durationMs: number;
};

/** Whether the provider's signer signed an answer. Never throws. */
type Verify = (provider: Provider, answerId: string | undefined) => Promise<boolean>;

/**
 * An admitted request: its money is held and its candidate providers are chosen. `candidates` are in order, three at
 * most, and the hold covers the most expensive one. It must be settled exactly once.
 */
export class Admitted {
  readonly requestId: string;
  readonly candidates: readonly Provider[];
  readonly #body: (provider: Provider) => Buffer;
  readonly #write: (bill: Bill) => Promise<bigint>;
  readonly #verify: Verify | undefined;
  readonly #sinceStart: () => number;
  readonly #trace: RequestTrace | undefined;
  readonly #refused: readonly Refused[];
  readonly #attempts: AttemptRecord[] = [];
  #open: { readonly provider: Provider; readonly sinceMs: number } | undefined;
  #last: Provider | undefined;
  #firstByteMs: number | undefined;
  #isDelivered = false;

  constructor(given: {
    requestId: string;
    candidates: readonly Provider[];
    refused: readonly Refused[];
    body: (provider: Provider) => Buffer;
    sinceStart: () => number;
    write: (bill: Bill) => Promise<bigint>;
    verify?: Verify | undefined;
    trace?: RequestTrace | undefined;
  }) {
    this.requestId = given.requestId;
    this.candidates = given.candidates;
    this.#refused = given.refused;
    this.#body = given.body;
    this.#sinceStart = given.sinceStart;
    this.#write = given.write;
    this.#verify = given.verify;
    this.#trace = given.trace;
  }

  /** Whether the signature of the answer is to be verified: `settle` then needs the answer's id. */
  get isVerified(): boolean {
    return this.#verify !== undefined;
  }

  /** The body to send to this candidate. */
  bodyFor(provider: Provider): Buffer {
    return this.#body(provider);
  }

  /** Records the start of an attempt at this provider. */
  beginAttempt(provider: Provider): void {
    this.#open = { provider, sinceMs: this.#sinceStart() };
    this.#trace?.beginAttempt(provider);
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
    this.#trace?.endAttempt(outcome, error);
    const { kind, upstreamStatus } = error instanceof ProviderFailure ? error : {};
    this.#attempts.push({
      provider: provider.address,
      outcome,
      ...(kind !== undefined && { reason: kind }),
      ...(upstreamStatus !== undefined && { status: upstreamStatus }),
      durationMs: this.#sinceStart() - sinceMs,
    });
  }

  /**
   * Bills the request at the price of the provider that answered and ends its hold. Resolves with the bill once it is
   * committed and, where requested, the answer's signature is verified.
   */
  async settle(ending: Ending): Promise<Trace> {
    this.endAttempt(ending.outcome === "completed" ? "answered" : ending.outcome);
    const provider = ending.provider ?? this.#last ?? this.candidates[0];
    if (!provider) throw new Error("a request was admitted without a candidate");
    const cost = costOf(ending.usage ?? { inputTokens: 0, outputTokens: 0 }, provider);
    const verified = ending.outcome === "completed" && this.#verify?.(provider, ending.answerId);
    const bill: Bill = {
      ending,
      cost,
      provider,
      routing: { attempts: this.#attempts, refused: this.#refused },
      firstByteMs: this.#firstByteMs,
      durationMs: this.#sinceStart(),
    };
    const charged = await (this.#trace
      ? this.#trace.run(() => this.#write(bill))
      : this.#write(bill)
    ).finally(() => this.#trace?.settled(bill));
    const billed = billedOf(cost, charged);
    return {
      request_id: this.requestId,
      provider: provider.address,
      billing: {
        input_cost: billed.input.toString(),
        output_cost: billed.output.toString(),
        total_cost: billed.total.toString(),
      },
      ...(verified && { tee_verified: await verified }),
    };
  }
}
