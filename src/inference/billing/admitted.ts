import type { Tags } from "../../accounts/tags/tags.ts";
import type { Clock } from "../../kernel/clock.ts";
import { AppError } from "../../kernel/errors.ts";
import type { Hex } from "../../kernel/text/hex.ts";
import type { EvidenceFloor } from "../../keys/api-keys/key-settings.ts";
import type { ClientExchange } from "../../receipts/client-exchange.ts";
import type { CachedAnswer, CacheRequest, CacheUse } from "../answer-cache/cache-request.ts";
import type { TextForm } from "../evidence/signed-text.ts";
import type { Verdict } from "../evidence/tee-signature.ts";
import { ExchangeHasher } from "../providers/exchange-hasher.ts";
import type { Provider } from "../providers/provider.ts";
import { ProviderFailure } from "../providers/provider-failure.ts";
import type { RequestTrace } from "../requests/request-trace.ts";
import type { Refused } from "../routing/choice.ts";
import type { Affinity } from "../routing/ranking.ts";
import type { Usd } from "../routing/routing-preferences.ts";
import type { AdmissionRequest } from "./admission-request.ts";
import type { Usage } from "./pricing.ts";
import { type ShownCost, shownCost } from "./shown-cost.ts";

/**
 * The caller of a request, the request's id, and its tags. `client` hashes its bytes, for a request over REST.
 */
export type Caller = {
  readonly account: string;
  readonly keyId: string;
  readonly requestId: string;
  readonly client?: ClientExchange | undefined;
  /** Set if the client accepts a stored answer. */
  readonly cache?: CacheRequest | undefined;
  readonly tags?: Tags | undefined;
};

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
  /** Why the answer ended, as the provider stated it. */
  readonly finishReason?: string | undefined;
  /** Hashes the decoded images of the answer, in order. */
  readonly imageHashes?: (() => Promise<readonly string[]>) | undefined;
  /** The last bytes that the client will be sent, if this is the bill; all of them if nothing was sent yet. */
  readonly closing?: ((bill: Trace) => Buffer | Promise<Buffer>) | undefined;
};

/** A bill as the client sees it in `x_0g_trace`, decimal strings of neuron (facts 1.3). */
export type Trace = {
  readonly request_id: string;
  readonly provider: string;
  /** The model that answered; present only if the request named several. */
  readonly model?: string;
  readonly billing: {
    readonly input_cost: string;
    readonly output_cost: string;
    readonly total_cost: string;
    /** What the provider's cache saved; present only if it saved something. */
    readonly cache_saving?: string;
  };
  /** The request that this stored answer was given to, and which its evidence is about; present only for one. */
  readonly cached_from?: string;
  /** Whether the provider's enclave signed this answer; present only if verification was requested. */
  readonly tee_verified?: boolean;
  /** What the signature proves; present only if verification was requested. */
  readonly tee_evidence?: TeeEvidence;
  /** Present only in a whole answer that lacks the required proof, in place of the error event of a stream. */
  readonly error?: TraceError;
};

/** A failure of an answer that is delivered and billed all the same. */
export type TraceError = { readonly code: string; readonly type: string; readonly message: string };

/** The result of verifying a signature, as the client sees it. */
export type TeeEvidence = {
  readonly verdict: Verdict;
  /** The form of the signed text; absent if there is none, or its form is not supported. */
  readonly form?: TextForm;
  /** Whether the text has the hash of the request as it was sent; absent if it was not compared. */
  readonly request_bound?: boolean;
  /** Whether the text has the hash of the answer as it was received; absent if it was not compared. */
  readonly response_bound?: boolean;
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
  readonly durationMs: number;
};

/**
 * The routing of a request: its attempts in order, the providers not used, with reasons, and how it was answered. Stored
 * with the request.
 */
export type Routing = {
  readonly attempts: readonly AttemptRecord[];
  readonly refused: readonly Refused[];
  /** Whether its client was sent the answer as a stream; absent in requests of earlier versions. */
  readonly streamed?: boolean;
  /** Why the answer ended, as the provider stated it; absent if it did not, or the request was not completed. */
  readonly finishReason?: string;
  /** The provider that probably had the prompt cached when the request was admitted. */
  readonly cachedBy?: Hex;
  /** The request whose stored answer was returned; absent if a provider answered. */
  readonly cachedFrom?: string;
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

/**
 * A request that was admitted: `heldNeuron` is held for it, and its `candidates` are chosen, in order, at most three.
 * It records its attempts, and must be settled once, by `BillingService.settle`.
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
  #firstByteMs: number | undefined;
  #isStreamed = false;
  #isDelivered = false;
  #hasher: ExchangeHasher | undefined;
  #cacheUse: CacheUse | undefined;
  #served: Served | undefined;
  #ended:
    | { readonly outcome: Ending["outcome"]; readonly provider: Provider; readonly bill: Trace }
    | undefined;

  constructor(given: {
    requestId: string;
    account?: string;
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
    this.account = given.account ?? "";
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

  /** Records the committed bill. */
  markEnded(outcome: Ending["outcome"], provider: Provider, bill: Trace): void {
    this.#ended = { outcome, provider, bill };
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
    this.#hasher = new ExchangeHasher();
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
        ...(finishReason !== undefined && { finishReason }),
        ...(this.affinity?.warm && { cachedBy: this.affinity.warm.provider }),
        ...(this.#served && { cachedFrom: this.#served.cached.requestId }),
      },
      firstByteMs: this.#firstByteMs,
      durationMs: this.#sinceStart(),
    };
  }

  #sinceStart(): number {
    return Math.round(this.#clock.monotonicMs() - this.#startedMs);
  }
}
