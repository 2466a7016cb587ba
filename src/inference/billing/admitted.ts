import type { Tags } from "../../accounts/tags/tags.ts";
import type { Clock } from "../../kernel/clock.ts";
import { AppError } from "../../kernel/errors.ts";
import type { EvidenceFloor } from "../../keys/api-keys/key-settings.ts";
import type { ClientExchange } from "../../receipts/client-exchange.ts";
import type { CacheRequest, CacheUse } from "../answer-cache/cache-request.ts";
import { ExchangeHasher } from "../providers/exchange/exchange-hasher.ts";
import { ProviderFailure } from "../providers/exchange/provider-failure.ts";
import type { Provider } from "../providers/provider.ts";
import type { RequestTrace } from "../requests/request-trace.ts";
import type { Refused } from "../routing/choice-context.ts";
import type { Affinity } from "../routing/ranking.ts";
import type { Usd } from "../routing/routing-preferences.ts";
import type { AdmissionRequest } from "./admission-request.ts";
import type { AttemptRecord, AttemptSummary, Ending, Served } from "./ending.ts";
import { type ShownCost, shownCost } from "./shown-cost.ts";
import type { Trace } from "./trace.ts";

/**
 * The caller of a request, the request's id, and its tags. `client` hashes its bytes, for a request over REST.
 */
export type Caller = {
  readonly account: string;
  readonly keyId: string;
  readonly requestId: string;
  readonly client?: ClientExchange | undefined;
  /** Aborts when the client leaves: then its admission waits for no money of other processes. */
  readonly signal?: AbortSignal | undefined;
  /** Set if the client accepts a stored answer. */
  readonly cache?: CacheRequest | undefined;
  readonly tags?: Tags | undefined;
};

/**
 * A request that was admitted: `heldNeuron` is held for it, and at most three `candidates` are chosen, in order. It
 * records its attempts, and must be settled once, by `BillingService.settle`.
 */
export class Admitted {
  readonly requestId: string;
  readonly request: AdmissionRequest;
  readonly candidates: readonly Provider[];
  readonly trace: RequestTrace | undefined;
  /** The bytes between the client and the router; undefined for a request over GraphQL. */
  readonly client: ClientExchange | undefined;
  /** The proof without which the answer counts as unproven; undefined if none is required. */
  readonly requiredEvidence: EvidenceFloor | undefined;
  /** The conversation, if it matters which provider has its prompt cached. */
  readonly affinity: Affinity | undefined;
  /** Who pays for it. */
  readonly account: string;
  readonly cache: CacheRequest | undefined;
  /** Whether less than the whole cost is held, so that the answer may be shorter. */
  readonly isReduced: boolean;
  readonly #heldNeuron: bigint;
  readonly #tokenUsd: Usd | undefined;
  readonly #refused: readonly Refused[];
  readonly #clock: Clock;
  readonly #startedMs: number;
  readonly #attempts: AttemptRecord[] = [];
  #open: { readonly provider: Provider; readonly sinceMs: number } | undefined;
  #last: Provider | undefined;
  readonly #admittedMs: number;
  #firstByteMs: number | undefined;
  #isStreamed = false;
  #isDelivered = false;
  #hasher: ExchangeHasher | undefined;
  #cacheUse: CacheUse | undefined;
  #served: Served | undefined;
  #keptResponse: string | undefined;
  #isObserved = false;
  #ended:
    | { readonly outcome: Ending["outcome"]; readonly provider: Provider; readonly bill: Trace }
    | undefined;

  constructor(given: {
    requestId: string;
    account: string;
    cache?: CacheRequest | undefined;
    request: AdmissionRequest;
    candidates: readonly Provider[];
    refused: readonly Refused[];
    requiredEvidence?: EvidenceFloor | undefined;
    affinity?: Affinity | undefined;
    heldNeuron: bigint;
    isReduced?: boolean;
    /** The network token's price in dollars, if it is known. */
    tokenUsd?: Usd | undefined;
    clock: Clock;
    startedMs: number;
    trace?: RequestTrace | undefined;
    client?: ClientExchange | undefined;
  }) {
    this.requestId = given.requestId;
    this.account = given.account;
    this.cache = given.cache;
    this.request = given.request;
    this.candidates = given.candidates;
    this.trace = given.trace;
    this.client = given.client;
    this.requiredEvidence = given.requiredEvidence;
    this.affinity = given.affinity;
    this.#heldNeuron = given.heldNeuron;
    this.isReduced = given.isReduced ?? false;
    this.#tokenUsd = given.tokenUsd;
    this.#refused = given.refused;
    this.#clock = given.clock;
    this.#startedMs = given.startedMs;
    this.#admittedMs = this.#sinceStart();
  }

  /** Whether the answer's signature is to be verified: then its bill needs the answer's id. */
  get isVerified(): boolean {
    return this.request.verifyTee === true || this.requiredEvidence !== undefined;
  }

  /** What came of the client's cache request; undefined without one. */
  get cacheUse(): CacheUse | undefined {
    return this.#cacheUse;
  }

  /** The stored answer that the request gets in place of a provider's; undefined without one. */
  get served(): Served | undefined {
    return this.#served;
  }

  /** How the request ended, and its bill; undefined until it is committed. */
  get ended():
    | { readonly outcome: Ending["outcome"]; readonly provider: Provider; readonly bill: Trace }
    | undefined {
    return this.#ended;
  }

  /** Records what came of the client's cache request. */
  markCacheUse(use: CacheUse, served?: Served): void {
    this.#cacheUse = use;
    this.#served = served;
  }

  /** Records the provider's own id of the response that it keeps. */
  markKept(responseId: string): void {
    this.#keptResponse = responseId;
  }

  /** Records the committed bill. */
  markEnded(outcome: Ending["outcome"], provider: Provider, bill: Trace): void {
    this.#ended = { outcome, provider, bill };
  }

  /** Records that the end of the request was observed. False if it had been before. */
  markObserved(): boolean {
    if (this.#isObserved) return false;
    this.#isObserved = true;
    return true;
  }

  /** Whether the request names models to fall back on. */
  get hasModels(): boolean {
    return (this.request.preferences.fallbackModels ?? []).length > 0;
  }

  /** Whether the client has received content. */
  get isDelivered(): boolean {
    return this.#isDelivered;
  }

  /** The failure of an answer that lacks the required proof; undefined if it has it, or none is required. */
  unproven({ tee_evidence: evidence }: Trace): AppError | undefined {
    if (this.requiredEvidence === undefined || evidence?.verdict === "verified") return undefined;
    return new AppError(
      "evidence_missing",
      `The provider did not prove this answer (${evidence?.verdict}). It is delivered without its proof, and billed.`,
    );
  }

  /** The cost that the answer shows with this bill: in dollars at the token's price when the request was admitted. */
  shownCost({ billing }: Trace): ShownCost {
    return shownCost(BigInt(billing.total_cost), this.#tokenUsd);
  }

  /** Hashes the exchange of the current attempt; undefined before the first. */
  get hasher(): ExchangeHasher | undefined {
    return this.#hasher;
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
    this.#hasher = new ExchangeHasher(this.client);
    if (!this.#isDelivered) this.#firstByteMs = undefined;
  }

  /** Records the arrival of the provider's first byte. */
  markFirstByte(): void {
    this.#firstByteMs ??= this.#sinceStart();
  }

  /** Records that the client is sent the answer as a stream. */
  markStreamed(): void {
    this.#isStreamed = true;
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
      ...(this.hasModels && { model: provider.model }),
      outcome,
      ...(kind !== undefined && { reason: kind }),
      ...(upstreamStatus !== undefined && { status: upstreamStatus }),
      startMs: sinceMs,
      durationMs: this.#sinceStart() - sinceMs,
    });
  }

  /** Ends the attempt in progress with this outcome, and sums up all attempts. */
  summarize({ outcome, finishReason }: Ending): AttemptSummary {
    this.endAttempt(outcome === "completed" ? "answered" : outcome);
    const provider = this.#served?.provider ?? this.#last ?? this.candidates[0];
    if (!provider) throw new Error("a request was admitted without a candidate");
    return {
      provider,
      routing: {
        ...{ attempts: this.#attempts, refused: this.#refused, streamed: this.#isStreamed },
        ...(this.client && { receivedMs: Math.round(this.client.receivedMs) }),
        admittedMs: this.#admittedMs,
        ...(finishReason !== undefined && { finishReason }),
        ...(this.affinity?.warm && { cachedBy: this.affinity.warm.provider }),
        ...(this.#served && { cachedFrom: this.#served.cached.requestId }),
        ...(outcome === "completed" &&
          this.#keptResponse !== undefined && { keptResponse: this.#keptResponse }),
      },
      firstByteMs: this.#firstByteMs,
      durationMs: this.#sinceStart(),
    };
  }

  #sinceStart(): number {
    return Math.round(this.#clock.monotonicMs() - this.#startedMs);
  }
}
