import type { HoldsService } from "../../accounts/holds.service.ts";
import type { HoldRequest } from "../../accounts/holds.store.ts";
import { NotCovered } from "../../accounts/refusals.ts";
import type { Clock } from "../../kernel/clock.ts";
import { AppError } from "../../kernel/errors.ts";
import { type KeyRestrictions, KeyRestrictionsChanged } from "../../keys/api-keys/key-settings.ts";
import { guard, hasGuardrails, type InputCounts } from "../guardrails/guard.ts";
import { inputTokensAt, type Provider, trustModeOf } from "../providers/provider.ts";
import { RequestTrace } from "../requests/request-trace.ts";
import type { ChoiceService } from "../routing/choice.service.ts";
import type { Choice } from "../routing/choice.ts";
import type { Usd } from "../routing/routing-preferences.ts";
import type { AdmissionRequest } from "./admission-request.ts";
import { Admitted, type Caller } from "./admitted.ts";
import { ratesFor } from "./pricing.ts";

/** The account and the key that pay for a request, and the tags under which its cost counts. */
export type Payer = Pick<Caller, "account" | "keyId" | "tags">;

/** A request whose providers are chosen and whose hold is computed, before anything is held. */
export type AdmissionPlan = {
  /** The request with what the guardrails of its key add. */
  readonly request: AdmissionRequest;
  /** The request as the client sent it. */
  readonly given: AdmissionRequest;
  readonly payer: Payer;
  readonly choice: Choice;
  /** The hold to place, except for the id of the request. */
  readonly hold: Omit<HoldRequest, "id">;
  /** How many times the request has been planned. */
  readonly plans: number;
};

type Dependencies = {
  readonly choices: ChoiceService;
  readonly holds: Pick<HoldsService, "hold" | "lastSpendable">;
  readonly clock: Clock;
  /** The network token's price in dollars; undefined while it is not known. */
  readonly tokenUsd: () => Usd | undefined;
  /** An unsettled hold is released after this time: the total deadline of a request plus one minute. */
  readonly holdSeconds: number;
  readonly counts: InputCounts;
};

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

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** Admits a request. Throws what `plan` and `HoldsService.hold` throw, and then nothing was held. */
  admit(request: AdmissionRequest, caller: Caller): Promise<Admitted> {
    return RequestTrace.admit(request, (trace) => this.#admit(request, caller, trace));
  }

  async #admit(request: AdmissionRequest, caller: Caller, trace?: RequestTrace): Promise<Admitted> {
    const { clock, holds, tokenUsd } = this.#dependencies;
    const startedMs = clock.monotonicMs();
    let plan = await this.plan(request, caller);
    for (;;) {
      try {
        const heldNeuron = await holds.hold({ id: caller.requestId, ...plan.hold }, caller.signal);
        // The amount left for the answer is only exact with the counted prompt.
        const counted = heldNeuron < plan.hold.maximum ? await plan.request.counted?.() : undefined;
        return new Admitted({
          requestId: caller.requestId,
          account: caller.account,
          cache: caller.cache,
          request: counted ?? plan.request,
          candidates: affordable(plan, heldNeuron, counted),
          refused: plan.choice.refused,
          requiredEvidence: plan.choice.evidence,
          affinity: plan.choice.affinity,
          heldNeuron,
          isReduced: heldNeuron < plan.hold.maximum,
          tokenUsd: tokenUsd(),
          clock,
          startedMs,
          trace,
          client: caller.client,
        });
      } catch (error) {
        plan = await this.replan(plan, error);
      }
    }
  }

  /**
   * Checks a request against the guardrails of its key, chooses its providers and computes its hold; nothing is held
   * yet. Throws what `guard`, `ChoiceService.choose` and `ChoiceService.decideFor` throw.
   */
  plan(request: AdmissionRequest, payer: Payer): Promise<AdmissionPlan> {
    return this.#plan(request, payer, 1);
  }

  /**
   * Plans again after placing the hold of a plan failed with `error`: with the key's new restrictions, or with the
   * tokens of the prompt counted if its bound is not covered. Throws `error` if another plan would not help, and
   * `unavailable` if the restrictions keep changing.
   */
  async replan({ request, given, payer, plans }: AdmissionPlan, error: unknown): Promise<AdmissionPlan> {
    if (isUncovered(error) && request.counted && given.counted)
      return this.#plan(await given.counted(), payer, plans + 1);
    if (!(error instanceof KeyRestrictionsChanged)) throw error;
    if (plans >= MAX_PLANS)
      throw new AppError("unavailable", "The restrictions of this key are being changed. Try again.", {
        cause: error,
      });
    this.#dependencies.choices.noteRestrictions(payer.keyId, error.restrictions);
    return this.#plan(given, payer, plans + 1);
  }

  async #plan(given: AdmissionRequest, payer: Payer, plans: number): Promise<AdmissionPlan> {
    const { choices, counts, holdSeconds: expiresInSeconds } = this.#dependencies;
    const { guarded, choice, restrictions } = await choices.decideFor(payer.keyId, async (restrictions) => {
      const { guardrails } = restrictions;
      const guarded = hasGuardrails(guardrails) ? await guard(given, guardrails, counts) : given;
      return { guarded, choice: choices.choose(guarded, restrictions, payer.account), restrictions };
    });
    const request = await this.#countedIfScarce(guarded, choice, payer);
    const hold = holdFor(request, choice, { payer, restrictions, expiresInSeconds });
    return { request, given, payer, choice, hold, plans };
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

/**
 * The hold for a choice: the cost of the most expensive candidate, or as much of it as the balance covers, if that is
 * enough for one of the candidates.
 */
function holdFor(
  request: AdmissionRequest,
  { candidates }: Choice,
  given: {
    readonly payer: Payer;
    readonly restrictions: KeyRestrictions;
    readonly expiresInSeconds: number;
  },
): AdmissionPlan["hold"] {
  const [first] = candidates;
  if (!first) throw new Error("a choice without a candidate");
  const quotes = candidates.map((provider) => request.quote(provider));
  const rates = ratesFor(first, inputTokensAt(first, request.inputTokens ?? 0));
  return {
    account: given.payer.account,
    keyId: given.payer.keyId,
    ...(given.payer.tags && { tags: given.payer.tags }),
    minimum: quotes.reduce(
      (least, { minimum }) => (minimum < least ? minimum : least),
      quotes[0]?.minimum ?? 0n,
    ),
    maximum: quotes.reduce((most, { maximum }) => (maximum > most ? maximum : most), 0n),
    model: first.model,
    provider: first.address,
    serviceType: first.serviceType,
    inputPrice: rates.input,
    outputPrice: rates.output,
    expiresInSeconds: given.expiresInSeconds,
    restrictionsVersion: given.restrictions.version,
    trustMode: trustModeOf(first),
  };
}

/** The candidates whose minimum the held amount covers; the others are not tried. Neuron. */
export function affordable(
  { choice, hold, request }: AdmissionPlan,
  heldNeuron: bigint,
  quotedBy: AdmissionRequest = request,
): readonly Provider[] {
  if (heldNeuron >= hold.maximum) return choice.candidates;
  return choice.candidates.filter((provider) => quotedBy.quote(provider).minimum <= heldNeuron);
}

/** Whether a smaller hold might be granted. */
function isUncovered(error: unknown): boolean {
  return error instanceof NotCovered && !error.isEmpty;
}
