import type { InferenceService } from "../../chain/direct/inference-registry.ts";
import type { Price } from "../billing/pricing.ts";
import type { Profile } from "./profile.ts";

/** The service types of the on-chain registry (facts 2). */
export const SERVICE_TYPES = ["chatbot", "text-to-image", "image-editing", "speech-to-text"] as const;
export type ServiceType = (typeof SERVICE_TYPES)[number];

/**
 * A provider's offer: its registry row, of a service type that the router knows, or one of the same shape from
 * PROVIDERS_FILE. Prices are neuron per token, of images per image and of speech per second (`outputPrice`).
 */
export type Provider = Omit<InferenceService, "serviceType" | "additionalInfo"> &
  Price & {
    readonly serviceType: ServiceType;
    /** Who vouches for the offer: the chain, or the operator's own file, whose URLs are trusted. */
    readonly source: "chain" | "file";
    readonly profile: Profile;
    /** What the server calls the model, where that is not `model`. */
    readonly upstreamModel?: string | undefined;
    /** Why it is never asked, whatever its state: what is wrong with its URL. Absent when nothing is. */
    readonly unroutable?: string | undefined;
  };

/** A model and who serves it, cheapest first. */
export type Model = {
  readonly id: string;
  readonly serviceType: ServiceType;
  readonly providers: readonly Provider[];
};

/**
 * Whether a request may be sent to this provider: an http(s) URL that we may go to, and a signer that the network
 * acknowledged or the operator's own word.
 */
export function isRoutable(provider: Provider): boolean {
  return provider.unroutable === undefined && (provider.teeAcknowledged || provider.source === "file");
}

/** The most tokens of a question that may have `maxTokens`: a model takes no more than its context, where that is known. */
export function inputTokensAt({ profile }: Provider, maxTokens: number): number {
  return Math.min(maxTokens, profile.contextLength ?? maxTokens);
}

/**
 * Where an endpoint of OpenAI's API, such as `/chat/completions`, is at this provider: below `/v1/proxy` of a broker,
 * whose own `/async` is below `/v1` (facts 2.1); directly below the URL of a server of PROVIDERS_FILE.
 */
export function endpointOf({ source, url }: Provider, path: `/${string}`): string {
  if (source === "file") return url + path;
  return path.startsWith("/async/") ? `${url}/v1${path}` : `${url}/v1/proxy${path}`;
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
