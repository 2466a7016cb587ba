import QuickLru from "quick-lru";
import type { HoldsService } from "../../accounts/holds.service.ts";
import type { Transaction } from "../../db/database.ts";
import type { Clock } from "../../kernel/clock.ts";
import { AppError } from "../../kernel/errors.ts";
import {
  type KeyRestrictions,
  KeyRestrictionsChanged,
  UNRESTRICTED,
} from "../../keys/api-keys/key-settings.ts";
import type { EvidenceService } from "../evidence/evidence.service.ts";
import type { CatalogueService } from "../providers/catalogue.service.ts";
import type { HealthService } from "../providers/health.service.ts";
import type { ApiFormat } from "../providers/profile.ts";
import { inputTokensAt, type Provider, type ServiceType, trustModeOf } from "../providers/provider.ts";
import type { RequestObserver } from "../requests/request-observer.ts";
import { RequestTrace } from "../requests/request-trace.ts";
import { type Choice, choose } from "../routing/choice.ts";
import type { RoutingPreferences, Usd } from "../routing/routing-preferences.ts";
import { Admitted, type Bill, type Caller } from "./admitted.ts";
import { type Quote, ratesFor } from "./pricing.ts";

type Dependencies = {
  readonly catalogue: CatalogueService;
  readonly health: Pick<HealthService, "of">;
  readonly holds: HoldsService;
  /** Reads what a key may reach, now. Throws `api_key_revoked` and `api_key_expired`. */
  readonly restrictionsOf: (keyId: string) => Promise<KeyRestrictions>;
  /** Dollars for one token of the network; undefined when that is not known. Throws `unavailable`. */
  readonly tokenUsd: () => Usd | undefined;
  readonly evidence: Pick<EvidenceService, "check">;
  readonly observer?: RequestObserver | undefined;
  readonly clock: Clock;
  /** After this a hold that was not settled is released: the total deadline of a request and a minute. */
  readonly holdSeconds: number;
};

/** A request before it is let in. */
export type AdmissionRequest = {
  readonly model: string;
  readonly serviceType: ServiceType;
  /** The format of the endpoint that was called; `openai` for all that is no `/v1/messages`. */
  readonly format: ApiFormat;
  readonly preferences: RoutingPreferences;
  /** How many tokens the prompt and the answer probably have; none where tokens are not what is paid for. */
  readonly inputTokens?: number | undefined;
  readonly outputTokens?: number | undefined;
  /** The most tokens that the client allows for the answer, if it says so. */
  readonly answerTokens?: number | undefined;
  /** The same request with its question counted, where `quote` has only a bound for it. Never rejects. */
  readonly counted?: (() => Promise<AdmissionRequest>) | undefined;
  /** Whether `counted` takes less than a few milliseconds. */
  readonly isShort?: boolean | undefined;
  /** Whether the provider's signature of the answer is to be checked. */
  readonly verifyTee?: boolean | undefined;
  /** What must be held for it with this provider. */
  quote(provider: Provider): Quote;
  /** What is sent to this provider, for which so much is held, neuron. Called once for every try. */
  body(provider: Provider, heldNeuron: bigint): Buffer;
  /** For what outlives this request. */
  readonly job?: JobAdmission;
};

/** A request that goes on as a job: its id in the books, and what is committed with its hold, or neither is. */
type JobAdmission = {
  requestIdOf(first: Provider): string;
  insert(tx: Transaction, placed: { readonly requestId: string } & Choice): Promise<void>;
};

const REMEMBERED_KEYS = 10_000;
/**
 * A key that can spend so many times what a request is held for is not short of money: its requests are held for the
 * bound of their prompt, and never for so much together that another one has to be refused.
 */
const PLENTY = 1_000n;
/** How often a request is chosen for again while its key's holder changes what it may reach. */
const MAX_CHOICES = 5;

/** Lets requests in: chooses who may serve them, fixes the price, and sets the money aside before anything is sent. */
export class AdmissionService {
  readonly #dependencies: Dependencies;
  /**
   * What keys might reach when last heard of, for the first choice only: the admission statement compares the version
   * and refuses a choice by an old one, and no request is refused by it before it was read anew.
   */
  readonly #restrictions = new QuickLru<string, KeyRestrictions>({ maxSize: REMEMBERED_KEYS });

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** Admits a request. Throws what `choose` and `HoldsService.hold` throw, and then nothing was held. */
  async admit(request: AdmissionRequest, caller: Caller): Promise<Admitted> {
    const trace = RequestTrace.open(request.serviceType, request.model);
    if (!trace) return this.#admit(request, caller);
    try {
      const admitted = await trace.run(() => this.#admit(request, caller, trace));
      // A worker settles it.
      if (request.job) trace.handOver();
      return admitted;
    } catch (error) {
      trace.refuse(error);
      throw error;
    }
  }

  async #admit(given: AdmissionRequest, caller: Caller, trace?: RequestTrace): Promise<Admitted> {
    const startedMs = this.#dependencies.clock.monotonicMs();
    let request = given;
    let restrictions = this.#restrictions.get(caller.keyId) ?? UNRESTRICTED;
    for (let choices = 1; ; choices++) {
      try {
        const choice = this.choose(request, restrictions);
        request = await this.#countedIfScarce(request, choice, caller);
        return await this.#hold(request, caller, { choice, restrictions, startedMs, trace });
      } catch (error) {
        if (isUncovered(error) && request.counted) {
          request = await request.counted();
          continue;
        }
        const current = await this.#newRestrictions(error, restrictions, caller.keyId);
        if (!current || choices === MAX_CHOICES) throw unchosen(error);
        restrictions = current;
      }
    }
  }

  /** Chooses as an admission does, and holds nothing. Throws what `choose` throws. */
  choose(
    request: Pick<
      AdmissionRequest,
      "model" | "serviceType" | "format" | "preferences" | "inputTokens" | "outputTokens" | "answerTokens"
    >,
    restrictions: KeyRestrictions,
  ): Choice {
    const { catalogue, health, tokenUsd } = this.#dependencies;
    const { model, serviceType, format, preferences, inputTokens, outputTokens, answerTokens } = request;
    return choose(catalogue.model(model, serviceType), {
      model,
      serviceType,
      format,
      preferences,
      inputTokens,
      outputTokens,
      answerTokens,
      restrictions,
      stateOf: (provider) => health.of(provider),
      tokenUsd: preferences.caps && tokenUsd(),
      isKnown: (provider) => catalogue.provider(provider) !== undefined,
    });
  }

  /** What the key may reach now, if that is not what a choice failed by. */
  async #newRestrictions(
    error: unknown,
    tried: KeyRestrictions,
    keyId: string,
  ): Promise<KeyRestrictions | undefined> {
    const isByRestrictions = error instanceof KeyRestrictionsChanged;
    if (!isByRestrictions && !(error instanceof AppError && BY_RESTRICTIONS.has(error.code)))
      return undefined;
    const restrictions = isByRestrictions
      ? error.restrictions
      : await this.#dependencies.restrictionsOf(keyId);
    if (restrictions.version === tried.version) return undefined;
    this.#restrictions.set(keyId, restrictions);
    return restrictions;
  }

  /**
   * Holds the cost of the most expensive candidate, or as much of it as the balance has, if that is enough for one of
   * them. Candidates that the hold does not cover are not tried.
   */
  async #hold(
    request: AdmissionRequest,
    caller: Caller,
    {
      choice,
      restrictions,
      startedMs,
      trace,
    }: { choice: Choice; restrictions: KeyRestrictions; startedMs: number; trace: RequestTrace | undefined },
  ): Promise<Admitted> {
    const { clock, holds, holdSeconds } = this.#dependencies;
    const [first] = choice.candidates;
    if (!first) throw new Error("a choice without a candidate");
    const quotes = choice.candidates.map((provider) => request.quote(provider));
    const requestId = request.job?.requestIdOf(first) ?? caller.requestId;
    const affordable = (heldNeuron: bigint, by: AdmissionRequest = request) =>
      heldNeuron >= holdRequest.maximum
        ? choice.candidates
        : choice.candidates.filter((provider) => by.quote(provider).minimum <= heldNeuron);
    const { job } = request;
    const rates = ratesFor(first, inputTokensAt(first, request.inputTokens ?? 0));
    const holdRequest = {
      id: requestId,
      account: caller.account,
      keyId: caller.keyId,
      minimum: quotes.reduce(
        (least, { minimum }) => (minimum < least ? minimum : least),
        quotes[0]?.minimum ?? 0n,
      ),
      maximum: quotes.reduce((most, { maximum }) => (maximum > most ? maximum : most), 0n),
      model: request.model,
      provider: first.address,
      serviceType: first.serviceType,
      inputPrice: rates.input,
      outputPrice: rates.output,
      expiresInSeconds: holdSeconds,
      restrictionsVersion: restrictions.version,
      trustMode: trustModeOf(first),
    };
    const held = await holds.hold(
      holdRequest,
      job && ((tx, granted) => job.insert(tx, { requestId, ...choice, candidates: affordable(granted) })),
    );
    // What is left for the answer is known exactly only with the count.
    const asked = held < holdRequest.maximum && request.counted ? await request.counted() : request;
    return new Admitted({
      requestId,
      candidates: affordable(held, asked),
      refused: choice.refused,
      body: (provider) => asked.body(provider, held),
      sinceStart: () => Math.round(clock.monotonicMs() - startedMs),
      write: (bill) => this.#write(requestId, request.model, bill),
      trace: job ? undefined : trace,
      ...(request.verifyTee && {
        verify: (provider, answerId) => this.#dependencies.evidence.check({ requestId, provider, answerId }),
      }),
    });
  }

  /** With its prompt counted where that is quick and the key might not have enough for the bounds of many requests. */
  async #countedIfScarce(
    request: AdmissionRequest,
    { candidates: [first] }: Choice,
    { keyId }: Caller,
  ): Promise<AdmissionRequest> {
    if (!first || !request.counted || !request.isShort) return request;
    const spendable = this.#dependencies.holds.lastSpendable(keyId) ?? 0n;
    return spendable > request.quote(first).maximum * PLENTY ? request : request.counted();
  }

  #write(id: string, model: string, bill: Bill): Promise<bigint> {
    const { ending, cost, provider, routing, firstByteMs, durationMs } = bill;
    const { outcome, usage, estimated, errorCode } = ending;
    const tokens = usage && "inputTokens" in usage ? usage : undefined;
    const units = usage && "inputUnits" in usage ? usage : undefined;
    const rates = ratesFor(provider, tokens?.inputTokens ?? 0);
    this.#dependencies.observer?.ended({
      serviceType: provider.serviceType,
      model,
      outcome: outcome === "failed" ? (errorCode ?? outcome) : outcome,
      inputTokens: tokens?.inputTokens,
      outputTokens: tokens?.outputTokens,
      tries: routing.attempts.length,
      firstByteMs,
      durationMs,
    });
    return this.#dependencies.holds.settle({
      id,
      outcome,
      inputTokens: tokens?.inputTokens,
      outputTokens: tokens?.outputTokens,
      ...(tokens?.cache && { cache: tokens.cache }),
      units: units && units.inputUnits + units.outputUnits,
      usageEstimated: estimated ?? false,
      inputCost: cost.input,
      outputCost: cost.output,
      errorCode,
      firstByteMs,
      durationMs,
      answeredBy: {
        provider: provider.address,
        inputPrice: rates.input,
        outputPrice: rates.output,
        trustMode: trustModeOf(provider),
      },
      routing,
    });
  }
}

/** Failures of a choice that other restrictions of the key might cure. */
const BY_RESTRICTIONS: ReadonlySet<string> = new Set([
  "access_denied",
  "model_not_found",
  "no_available_provider",
  "no_provider_for_trust_mode",
  "no_provider_within_max_price",
  "pinned_provider_exceeds_max_price",
  "provider_model_mismatch",
  "provider_not_found",
]);

/** Whether a smaller hold might be granted. */
function isUncovered(error: unknown): boolean {
  return (
    error instanceof AppError &&
    (error.code === "insufficient_balance" || error.code === "credit_limit_exceeded")
  );
}

function unchosen(error: unknown): unknown {
  if (!(error instanceof KeyRestrictionsChanged)) return error;
  return new AppError("unavailable", "What this key may reach is being changed. Try again.", {
    cause: error,
  });
}
