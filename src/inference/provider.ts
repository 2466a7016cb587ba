import type { InferenceService } from "../chain/direct/inference-registry.ts";

/** The service types of the on-chain registry (facts 2). */
export const SERVICE_TYPES = ["chatbot", "text-to-image", "image-editing", "speech-to-text"] as const;
export type ServiceType = (typeof SERVICE_TYPES)[number];

/** A provider's offer: its registry row, of a service type that the router knows. Prices are neuron per token. */
export type Provider = Omit<InferenceService, "serviceType"> & { readonly serviceType: ServiceType };

/** A model and who serves it, cheapest first. */
export type Model = {
  readonly id: string;
  readonly serviceType: ServiceType;
  readonly providers: readonly Provider[];
};

/** Whether a request may be sent to this provider: an http(s) URL, and a signer that the network acknowledged. */
export function isRoutable(provider: Provider): boolean {
  const url = URL.parse(provider.url);
  return url !== null && (url.protocol === "https:" || url.protocol === "http:") && provider.teeAcknowledged;
}

/** How far a provider can be trusted (facts 1.3): what the client sends is `private` to it, or its answers `verified`. */
export type TrustMode = "standard" | "verified" | "private";

/**
 * The trust mode of an offer by its registry row: `standard` when nothing can be verified or its signer is not
 * acknowledged, `verified` when a proxy in an enclave vouches for a model that runs elsewhere (`ProviderType`
 * centralized), else `private`.
 */
export function trustModeOf({ verifiability, teeAcknowledged, isCentralized }: Provider): TrustMode {
  if (verifiability === "" || !teeAcknowledged) return "standard";
  return isCentralized ? "verified" : "private";
}

/** Orders offers of one model: the cheapest first, the address deciding between equals. */
export function byPrice(a: Provider, b: Provider): number {
  const difference = a.inputPrice + a.outputPrice - (b.inputPrice + b.outputPrice);
  if (difference !== 0n) return difference < 0n ? -1 : 1;
  return a.address < b.address ? -1 : 1;
}
