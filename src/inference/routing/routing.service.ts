import { AppError } from "../../kernel/errors.ts";
import type { KeyRestrictions } from "../../keys/api-keys/key-settings.ts";
import type { AdmissionService } from "../billing/admission.service.ts";
import { likelySize, type PlannedChat } from "../chat/chat-size.ts";
import type { CatalogueService } from "../providers/catalogue.service.ts";
import type { Provider, ServiceType } from "../providers/provider.ts";
import type { Refused } from "./choice.ts";
import type { RoutingPreferences } from "./routing-preferences.ts";

type Dependencies = {
  readonly admission: AdmissionService;
  readonly catalogue: CatalogueService;
  readonly restrictionsOf: (keyId: string) => Promise<KeyRestrictions>;
  /** The limit of an answer for which the client sets none. */
  readonly maxCompletionTokens: number;
};

/** Who would be asked, in the order of failover, and who would not, and why. */
export type RoutingPreview = {
  readonly providers: readonly Provider[];
  readonly refused: readonly Refused[];
};

/** Tells who would be asked for a request, without asking or billing anything. */
export class RoutingService {
  readonly #dependencies: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Chooses for a model as an admission of this key would; without a model, for each that its service type has, one
   * after the other. Chats are ranked by what `chat` would cost; without one, by a prompt of one token and the usual
   * answer. Throws what `choose` throws for the model, `api_key_revoked` and `api_key_expired`.
   */
  async preview(
    asked: {
      readonly serviceType: ServiceType;
      readonly model?: string | undefined;
      readonly chat?: PlannedChat | undefined;
    },
    preferences: RoutingPreferences,
    keyId: string,
  ): Promise<RoutingPreview> {
    const { admission, catalogue, restrictionsOf, maxCompletionTokens } = this.#dependencies;
    const reach = await restrictionsOf(keyId);
    const { serviceType, chat = {} } = asked;
    const size = serviceType === "chatbot" ? likelySize(chat, maxCompletionTokens) : {};
    const look = (model: string) => {
      const { candidates, refused } = admission.choose(
        { model, serviceType, format: "openai", preferences, ...size },
        reach,
      );
      return { providers: candidates, refused };
    };
    if (asked.model !== undefined) return look(asked.model);
    const found = catalogue
      .models()
      .filter((model) => model.serviceType === serviceType)
      .flatMap(({ id }) => lookOrNothing(() => look(id)));
    return {
      providers: found.flatMap(({ providers }) => providers),
      refused: found.flatMap(({ refused }) => refused),
    };
  }
}

/** A model that cannot be had is none of the answers; what is wrong with the preferences themselves is the caller's to hear. */
function lookOrNothing(look: () => RoutingPreview): readonly RoutingPreview[] {
  try {
    return [look()];
  } catch (error) {
    if (error instanceof AppError && error.code !== "invalid_max_price_usd" && error.code !== "unavailable")
      return [];
    throw error;
  }
}
