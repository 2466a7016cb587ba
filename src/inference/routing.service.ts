import { AppError } from "../kernel/errors.ts";
import type { KeyReach } from "../keys/key-terms.ts";
import type { AdmissionService } from "./admission.service.ts";
import type { CatalogueService } from "./catalogue.service.ts";
import type { Refused } from "./choice.ts";
import type { Provider, ServiceType } from "./provider.ts";
import type { RoutingWishes } from "./routing.ts";

type Needs = {
  readonly admission: AdmissionService;
  readonly catalogue: CatalogueService;
  readonly reachOf: (keyId: string) => Promise<KeyReach>;
};

/** Who would be asked, in the order of failover, and who would not, and why. */
export type RoutingPreview = {
  readonly providers: readonly Provider[];
  readonly refused: readonly Refused[];
};

/** Tells who would be asked for a request, without asking or billing anything. */
export class RoutingService {
  readonly #needs: Needs;

  constructor(needs: Needs) {
    this.#needs = needs;
  }

  /**
   * Chooses for a model as an admission of this key would; without a model, for each that its service type has, one
   * after the other. Throws what `choose` throws for the model, `api_key_revoked` and `api_key_expired`.
   */
  async preview(
    asked: { readonly serviceType: ServiceType; readonly model?: string | undefined },
    wishes: RoutingWishes,
    keyId: string,
  ): Promise<RoutingPreview> {
    const { admission, catalogue, reachOf } = this.#needs;
    const reach = await reachOf(keyId);
    const { serviceType } = asked;
    const look = (model: string) => {
      const { candidates, refused } = admission.choose(
        { model, serviceType, format: "openai", wishes },
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

/** A model that cannot be had is none of the answers; what is wrong with the wishes themselves is the caller's to hear. */
function lookOrNothing(look: () => RoutingPreview): readonly RoutingPreview[] {
  try {
    return [look()];
  } catch (error) {
    if (error instanceof AppError && error.code !== "invalid_max_price_usd" && error.code !== "unavailable")
      return [];
    throw error;
  }
}
