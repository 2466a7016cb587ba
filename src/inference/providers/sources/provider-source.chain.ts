import type { InferenceRegistry } from "../../../chain/direct/inference-registry.ts";
import { faultOf } from "../../../kernel/address-guard.ts";
import { isStorable } from "../../../kernel/text/storable.ts";
import { finerPriceOf } from "../../billing/finer-price.ts";
import type { ProviderSource } from "../catalogue.service.ts";
import { profileOf } from "../profile.ts";
import { SERVICE_TYPES, type ServiceType } from "../provider.ts";

/** Longer names do not fit into the request indexes, and no filter accepts them. */
const MAX_MODEL_LENGTH = 500;
/** Anybody may register an offer. U+0000 in its model would fail every settlement of the same batch. */
const CONTROL_CHARACTER = /\p{Cc}/u;

/**
 * Reads every offer from the inference registry. Skips rows with an unknown service type, and rows whose model name has
 * more than 500 characters, or control characters.
 */
export function chainProviders(
  registry: InferenceRegistry,
  rules: { readonly allowsPrivate: boolean },
): ProviderSource {
  return {
    async load() {
      const services = await registry.all();
      return services.flatMap(({ additionalInfo, ...service }) => {
        const { serviceType } = service;
        if (!isServiceType(serviceType) || !isModelName(service.model)) return [];
        const unroutable = faultOf(service.url, rules);
        const profile = profileOf(additionalInfo);
        const finer = serviceType === "chatbot" ? finerPriceOf(additionalInfo) : {};
        return [{ ...service, ...finer, serviceType, source: "chain" as const, profile, unroutable }];
      });
    },
  };
}

function isModelName(text: string): boolean {
  return text.length <= MAX_MODEL_LENGTH && !CONTROL_CHARACTER.test(text) && isStorable(text);
}

function isServiceType(text: string): text is ServiceType {
  return (SERVICE_TYPES as readonly string[]).includes(text);
}
