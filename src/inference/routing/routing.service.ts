import { AppError } from "../../kernel/errors.ts";
import { likelySize, type PlannedChat } from "../chat/chat-size.ts";
import type { CatalogueService } from "../providers/catalogue.service.ts";
import type { Provider, ServiceType } from "../providers/provider.ts";
import type { ChoiceService } from "./choice.service.ts";
import type { Refused } from "./choice-context.ts";
import type { PromptStart } from "./conversation.ts";
import type { RoutingPreferences } from "./routing-preferences.ts";

type Dependencies = {
  readonly choices: ChoiceService;
  readonly catalogue: CatalogueService;
  /** Limit on the tokens of an answer when the client sets none. */
  readonly maxCompletionTokens: number;
};

/** The providers that would be used, in order of failover, and those that would not, with reasons. */
export type RoutingPreview = {
  readonly providers: readonly Provider[];
  readonly refused: readonly Refused[];
};

/** Previews the routing of a request, without sending or billing anything. */
export class RoutingService {
  readonly #dependencies: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Chooses providers for a model as an admission of this key would; without a model, for each model of the service
   * type in turn. Chats are ranked by the cost of `chat`; without one, by a prompt of one token and the usual answer.
   * Throws what `choose` throws for the model, `api_key_revoked` and `api_key_expired`.
   */
  async preview(
    query: {
      readonly serviceType: ServiceType;
      readonly model?: string | undefined;
      readonly chat?: PlannedChat | undefined;
      /** The messages of the chat, by which its conversation is known. */
      readonly promptStart?: PromptStart | undefined;
    },
    preferences: RoutingPreferences,
    { account, keyId }: { readonly account: string; readonly keyId: string },
  ): Promise<RoutingPreview> {
    const { choices, catalogue, maxCompletionTokens } = this.#dependencies;
    const restrictions = await choices.restrictionsOf(keyId);
    const { serviceType, chat = {}, promptStart } = query;
    const size = serviceType === "chatbot" ? likelySize(chat, maxCompletionTokens) : {};
    const choose = (model: string, wanted: RoutingPreferences) => {
      const { candidates, refused } = choices.choose(
        { model, serviceType, format: "openai", preferences: wanted, promptStart, ...size },
        restrictions,
        account,
      );
      return { providers: candidates, refused };
    };
    if (query.model !== undefined) return choose(query.model, preferences);
    const ofEach = { ...preferences, fallbackModels: undefined };
    const found = catalogue
      .models()
      .filter((model) => model.serviceType === serviceType)
      .flatMap(({ id }) => previewOrNothing(() => choose(id, ofEach)));
    return {
      providers: found.flatMap(({ providers }) => providers),
      refused: found.flatMap(({ refused }) => refused),
    };
  }
}

/** Skips a model that is unavailable; an error in the preferences themselves is thrown to the caller. */
function previewOrNothing(choose: () => RoutingPreview): readonly RoutingPreview[] {
  try {
    return [choose()];
  } catch (error) {
    if (error instanceof AppError && error.code !== "invalid_max_price_usd" && error.code !== "unavailable")
      return [];
    throw error;
  }
}
