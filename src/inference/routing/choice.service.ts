import QuickLru from "quick-lru";
import { AppError } from "../../kernel/errors.ts";
import { type KeyRestrictions, UNRESTRICTED } from "../../keys/api-keys/key-settings.ts";
import type { CatalogueService } from "../providers/catalogue.service.ts";
import type { HealthService } from "../providers/health/health.service.ts";
import type { Provider } from "../providers/provider.ts";
import { type Choice, choose, MAX_CANDIDATES } from "./choice.ts";
import type { ChoiceContext } from "./choice-context.ts";
import { type ConversationRequest, conversationOf } from "./conversation.ts";
import type { EvidenceStanding } from "./evidence-floor.ts";
import { chooseAmong } from "./fallback-models.ts";
import type { PromptCachesService } from "./prompt-caches.service.ts";
import type { Usd } from "./routing-preferences.ts";

type Dependencies = {
  readonly catalogue: Pick<CatalogueService, "model" | "provider">;
  readonly health: Pick<HealthService, "of">;
  /** Reads the current restrictions of a key. Throws `api_key_revoked` and `api_key_expired`. */
  readonly restrictionsOf: (keyId: string) => Promise<KeyRestrictions>;
  /** The network token's price in dollars; undefined when it is not known. Throws `unavailable`. */
  readonly tokenUsd: () => Usd | undefined;
  readonly standings: { of(provider: Provider): EvidenceStanding };
  readonly promptCaches: Pick<PromptCachesService, "of">;
};

/** The part of a request that its providers are chosen by. */
export type ChoiceRequest = Pick<
  ChoiceContext,
  | "model"
  | "serviceType"
  | "format"
  | "needs"
  | "preferences"
  | "inputTokens"
  | "outputTokens"
  | "answerTokens"
> &
  Pick<ConversationRequest, "promptStart">;

const REMEMBERED_KEYS = 10_000;

/** Chooses the providers of requests by their offers, their health and the restrictions of keys. Holds no money. */
export class ChoiceService {
  readonly #dependencies: Dependencies;
  /**
   * The last known restrictions of keys, used for the first choice only: the admission statement compares the version
   * and rejects a choice made with an old one. Restrictions are reloaded before any request is refused by them.
   */
  readonly #known = new QuickLru<string, KeyRestrictions>({ maxSize: REMEMBERED_KEYS });

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** The current restrictions of a key. Throws `api_key_revoked` and `api_key_expired`. */
  restrictionsOf(keyId: string): Promise<KeyRestrictions> {
    return this.#dependencies.restrictionsOf(keyId);
  }

  /**
   * Chooses by these restrictions: for the requested model, then for each fallback model. Throws what `choose` of
   * `choice.ts` throws, and `invalid_parameter` for fallback models of a request that is not a chat.
   */
  choose(request: ChoiceRequest, restrictions: KeyRestrictions, account: string): Choice {
    const { fallbackModels = [], allowFallbacks } = request.preferences;
    if (fallbackModels.length === 0) return this.#chooseFor(request, restrictions, account);
    if (request.serviceType !== "chatbot")
      throw new AppError(
        "invalid_parameter",
        "Only chats, messages, responses and completions may have fallback models.",
        {
          param: "models",
        },
      );
    return chooseAmong(
      [...new Set([request.model, ...fallbackModels])],
      (model) => this.#chooseFor({ ...request, model }, restrictions, account),
      allowFallbacks === false ? 1 : MAX_CANDIDATES,
    );
  }

  #chooseFor(request: ChoiceRequest, restrictions: KeyRestrictions, account: string): Choice {
    const { catalogue, health, tokenUsd, standings, promptCaches } = this.#dependencies;
    const { model, serviceType, format, needs, preferences } = request;
    const { inputTokens, outputTokens, answerTokens } = request;
    return choose(catalogue.model(model, serviceType), {
      model,
      serviceType,
      format,
      needs,
      preferences,
      inputTokens,
      outputTokens,
      answerTokens,
      restrictions,
      stateOf: (provider) => health.of(provider),
      standingOf: (provider) => standings.of(provider),
      tokenUsd: preferences.caps && tokenUsd(),
      isKnown: (provider) => catalogue.provider(provider) !== undefined,
      affinity: () => {
        const conversation = conversationOf({ ...request, account });
        return conversation === undefined
          ? undefined
          : { conversation, warm: promptCaches.of(conversation, model) };
      },
    });
  }

  /**
   * Decides by the last known restrictions of a key, and by its current ones before a request is refused by them.
   * Throws what `decide` throws, `api_key_revoked` and `api_key_expired`.
   */
  async decideFor<Decision>(
    keyId: string,
    decide: (restrictions: KeyRestrictions) => Promise<Decision>,
  ): Promise<Decision> {
    const known = this.#known.get(keyId) ?? UNRESTRICTED;
    try {
      return await decide(known);
    } catch (error) {
      if (!(error instanceof AppError && BY_RESTRICTIONS.has(error.code))) throw error;
      const restrictions = await this.restrictionsOf(keyId);
      if (restrictions.version === known.version) throw error;
      this.noteRestrictions(keyId, restrictions);
      return decide(restrictions);
    }
  }

  /** Records the restrictions that the next choices for this key are made by. */
  noteRestrictions(keyId: string, restrictions: KeyRestrictions): void {
    this.#known.set(keyId, restrictions);
  }
}

/** Errors of a decision that newer restrictions of the key might resolve. */
const BY_RESTRICTIONS: ReadonlySet<string> = new Set([
  "access_denied",
  "guardrail_violated",
  "model_not_found",
  "no_available_provider",
  "no_provider_for_trust_mode",
  "no_provider_with_evidence",
  "no_provider_within_max_price",
  "pinned_provider_exceeds_max_price",
  "provider_model_mismatch",
  "provider_not_found",
]);
