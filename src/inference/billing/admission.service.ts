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
import { RequestTrace } from "../requests/request-trace.ts";
import { type Choice, choose } from "../routing/choice.ts";
import type { Usd } from "../routing/routing-preferences.ts";
import { type AdmissionPlan, affordable, holdFor, type Payer } from "./admission-plan.ts";
import type { AdmissionRequest } from "./admission-request.ts";
import { Admitted, type Caller } from "./admitted.ts";

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
/** How many times a request is planned while the restrictions of its key keep changing. */
const MAX_PLANS = 5;

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
  admit(request: AdmissionRequest, caller: Caller): Promise<Admitted> {
    return RequestTrace.admit(request, (trace) => this.#admit(request, caller, trace));
  }

  async #admit(request: AdmissionRequest, caller: Caller, trace?: RequestTrace): Promise<Admitted> {
    const { clock, holds } = this.#dependencies;
    const startedMs = clock.monotonicMs();
    let plan = await this.plan(request, caller);
    for (;;) {
      try {
        const heldNeuron = await holds.hold({ id: caller.requestId, ...plan.hold });
        // The amount left for the answer is only exact with the counted prompt.
        const counted = heldNeuron < plan.hold.maximum ? await plan.request.counted?.() : undefined;
        return new Admitted({
          requestId: caller.requestId,
          request: counted ?? plan.request,
          candidates: affordable(plan, heldNeuron, counted),
          refused: plan.choice.refused,
          heldNeuron,
          clock,
          startedMs,
          trace,
        });
      } catch (error) {
        plan = await this.replan(plan, error);
      }
    }
  }

  /**
   * Chooses the providers of a request and computes its hold; nothing is held yet. Throws what `choose` throws,
   * `api_key_revoked` and `api_key_expired`.
   */
  plan(request: AdmissionRequest, payer: Payer): Promise<AdmissionPlan> {
    return this.#plan(request, payer, 1);
  }

  /**
   * Plans again after the hold of a plan failed with `error`: by the key's new restrictions, or with the prompt counted
   * if its bound is not covered. Throws `error` if another plan would not help, and `unavailable` if the restrictions
   * keep changing.
   */
  async replan({ request, payer, plans }: AdmissionPlan, error: unknown): Promise<AdmissionPlan> {
    if (isUncovered(error) && request.counted) return this.#plan(await request.counted(), payer, plans + 1);
    if (!(error instanceof KeyRestrictionsChanged)) throw error;
    if (plans >= MAX_PLANS)
      throw new AppError("unavailable", "The restrictions of this key are being changed. Try again.", {
        cause: error,
      });
    this.#restrictions.set(payer.keyId, error.restrictions);
    return this.#plan(request, payer, plans + 1);
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

  async #plan(given: AdmissionRequest, payer: Payer, plans: number): Promise<AdmissionPlan> {
    const { choice, restrictions } = await this.#chooseFor(given, payer.keyId);
    const request = await this.#countedIfScarce(given, choice, payer);
    const expiresInSeconds = this.#dependencies.holdSeconds;
    const hold = holdFor(request, choice, { payer, restrictions, expiresInSeconds });
    return { request, payer, choice, hold, plans };
  }

  /** Chooses by the last known restrictions of the key, and by its current ones before a request is refused by them. */
  async #chooseFor(
    request: AdmissionRequest,
    keyId: string,
  ): Promise<{ readonly choice: Choice; readonly restrictions: KeyRestrictions }> {
    const known = this.#restrictions.get(keyId) ?? UNRESTRICTED;
    try {
      return { choice: this.choose(request, known), restrictions: known };
    } catch (error) {
      if (!(error instanceof AppError && BY_RESTRICTIONS.has(error.code))) throw error;
      const restrictions = await this.#dependencies.restrictionsOf(keyId);
      if (restrictions.version === known.version) throw error;
      this.#restrictions.set(keyId, restrictions);
      return { choice: this.choose(request, restrictions), restrictions };
    }
  }

  /** Counts the prompt where that is quick and the key might not cover the bounds of many requests. */
  async #countedIfScarce(
    request: AdmissionRequest,
    { candidates: [first] }: Choice,
    { keyId }: Payer,
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
