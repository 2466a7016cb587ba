import QuickLru from "quick-lru";
import type { HoldsService } from "../../accounts/holds.service.ts";
import type { Clock } from "../../kernel/clock.ts";
import { AppError } from "../../kernel/errors.ts";
import {
  type KeyRestrictions,
  KeyRestrictionsChanged,
  UNRESTRICTED,
} from "../../keys/api-keys/key-settings.ts";
import type { CatalogueService } from "../providers/catalogue.service.ts";
import type { HealthService } from "../providers/health.service.ts";
import { inputTokensAt, trustModeOf } from "../providers/provider.ts";
import { RequestTrace } from "../requests/request-trace.ts";
import { type Choice, choose } from "../routing/choice.ts";
import type { Usd } from "../routing/routing-preferences.ts";
import type { AdmissionRequest } from "./admission-request.ts";
import { Admitted, type Caller } from "./admitted.ts";
import { ratesFor } from "./pricing.ts";

type Dependencies = {
  readonly catalogue: CatalogueService;
  readonly health: Pick<HealthService, "of">;
  readonly holds: HoldsService;
  /** Reads the current restrictions of a key. Throws `api_key_revoked` and `api_key_expired`. */
  readonly restrictionsOf: (keyId: string) => Promise<KeyRestrictions>;
  /** The network token's price in dollars; undefined when it is not known. Throws `unavailable`. */
  readonly tokenUsd: () => Usd | undefined;
  readonly clock: Clock;
  /** An unsettled hold is released after this time: the total deadline of a request plus one minute. */
  readonly holdSeconds: number;
};

const REMEMBERED_KEYS = 10_000;
/**
 * A key that can spend this many times the hold of a request is not short of money: its requests are held for the
 * bound of their prompt, and their holds together are never so large that another request has to be refused.
 */
const PLENTY = 1_000n;
/** How many times providers are chosen for a request while the restrictions of its key keep changing. */
const MAX_CHOICES = 5;

/** Admits requests: chooses candidate providers, fixes the price and holds the money before anything is sent. */
export class AdmissionService {
  readonly #dependencies: Dependencies;
  /**
   * The last known restrictions of keys, used for the first choice only: the admission statement compares the version
   * and rejects a choice made with an old one. Restrictions are reloaded before any request is refused by them.
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
      // The worker settles the request.
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

  /** Chooses providers as an admission does, without holding money. Throws what `choose` throws. */
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

  /** The key's current restrictions, if they differ from those that the choice failed with. */
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
   * Holds the cost of the most expensive candidate, or as much of it as the balance covers, if that is enough for one
   * of the candidates. Candidates that the hold does not cover are not tried.
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
    // The amount left for the answer is only exact with the counted prompt.
    const forwarded = held < holdRequest.maximum && request.counted ? await request.counted() : request;
    return new Admitted({
      requestId,
      request: forwarded,
      candidates: affordable(held, forwarded),
      refused: choice.refused,
      heldNeuron: held,
      clock,
      startedMs,
      trace: job ? undefined : trace,
    });
  }

  /** Counts the prompt where that is quick and the key might not cover the bounds of many requests. */
  async #countedIfScarce(
    request: AdmissionRequest,
    { candidates: [first] }: Choice,
    { keyId }: Caller,
  ): Promise<AdmissionRequest> {
    if (!first || !request.counted || !request.isShort) return request;
    const spendable = this.#dependencies.holds.lastSpendable(keyId) ?? 0n;
    return spendable > request.quote(first).maximum * PLENTY ? request : request.counted();
  }
}

/** Errors of a choice that newer restrictions of the key might resolve. */
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
  return new AppError("unavailable", "The restrictions of this key are being changed. Try again.", {
    cause: error,
  });
}
