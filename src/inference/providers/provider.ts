import type { InferenceService } from "../../chain/direct/inference-registry.ts";
import type { Price } from "../billing/pricing.ts";
import type { Profile } from "./profile.ts";

/** The service types of the on-chain registry (facts 2); the last three are beyond it (schema/choices.md). */
export const SERVICE_TYPES = [
  "chatbot",
  "text-to-image",
  "image-editing",
  "speech-to-text",
  "embedding",
  "text-to-speech",
  "rerank",
] as const;
export type ServiceType = (typeof SERVICE_TYPES)[number];

/**
 * A provider's offer: its registry row, with a known service type, or an equivalent one from PROVIDERS_FILE. Prices are
 * neuron per token; per image, per second of transcribed audio, and per character of speech (`outputPrice`).
 */
export type Provider = Omit<InferenceService, "serviceType" | "additionalInfo"> &
  Price & {
    readonly serviceType: ServiceType;
    /** The origin of the offer: the chain, or the operator's own file, whose URLs are trusted. */
    readonly source: "chain" | "file";
    readonly profile: Profile;
    /** The server's name of the model, if it differs from `model`. */
    readonly upstreamModel?: string | undefined;
    /** Why it is never used, whatever its state: the problem with its URL. Absent if there is none. */
    readonly unroutable?: string | undefined;
  };

/** A model and its providers, cheapest first. */
export type Model = {
  readonly id: string;
  readonly serviceType: ServiceType;
  readonly providers: readonly Provider[];
};

/**
 * Whether a request may be sent to this provider: its http(s) URL is allowed, and the network acknowledged its signer
 * or it comes from the operator's file.
 */
export function isRoutable(provider: Provider): boolean {
  return provider.unroutable === undefined && (provider.teeAcknowledged || provider.source === "file");
}

/** Caps `maxTokens` of `prompts` prompts at the model's context length for each, if that is known. */
export function inputTokensAt({ profile }: Provider, maxTokens: number, prompts = 1): number {
  return profile.contextLength === undefined
    ? maxTokens
    : Math.min(maxTokens, profile.contextLength * prompts);
}

/**
 * The URL of an OpenAI API endpoint, such as `/chat/completions`, at this provider: below `/v1/proxy` of a broker,
 * whose own `/async` and `/quote` are below `/v1` (facts 2.1); directly below the URL of a server from PROVIDERS_FILE.
 */
export function endpointOf({ source, url }: Provider, path: `/${string}`): string {
  if (source === "file") return url + path;
  return path.startsWith("/async/") || path === "/quote" ? `${url}/v1${path}` : `${url}/v1/proxy${path}`;
}

/**
 * The URL of a provider as customers may see it: that of the registry, which is public. Null for a server from
 * PROVIDERS_FILE, which is the operator's own, often in a private network.
 */
export function publicUrlOf({ source, url }: Provider): string | null {
  return source === "chain" ? url : null;
}

/** The trust level of a provider (facts 1.3): requests stay `private` to it, or its answers are `verified`. */
export type TrustMode = "standard" | "verified" | "private";

/**
 * The trust mode of an offer by its registry row: `standard` if nothing can be verified or its signer is not
 * acknowledged, `verified` if a proxy in an enclave attests a model that runs elsewhere (`ProviderType` centralized),
 * otherwise `private`.
 */
export function trustModeOf({ verifiability, teeAcknowledged, isCentralized }: Provider): TrustMode {
  if (verifiability === "" || !teeAcknowledged) return "standard";
  return isCentralized ? "verified" : "private";
}

/** Orders offers of one model: cheapest first, ties broken by address. */
export function byPrice(a: Provider, b: Provider): number {
  const difference = a.inputPrice + a.outputPrice - (b.inputPrice + b.outputPrice);
  if (difference !== 0n) return difference < 0n ? -1 : 1;
  return a.address < b.address ? -1 : 1;
}

/** The owner of a model whose on-chain providers give no name (facts 1.3). */
const NETWORK_OWNER = "0G Foundation";

/** The name for people of an offer's model: its id if the provider gives none. */
export function displayName({ profile, model }: Provider): string {
  return profile.name ?? model;
}

/** The owner of an offer's model: its provider's name, if it has one. */
export function ownerOf({ profile }: Provider): string {
  return profile.providerName ?? NETWORK_OWNER;
}

/** Whether the answers of an offer can be verified against a signer that the network acknowledged. */
export function isAttested({ teeAcknowledged, verifiability }: Provider): boolean {
  return teeAcknowledged && verifiability !== "";
}

/** When an offer of the model last changed. A model has at least one offer. */
export function changedAt({ providers }: Model): Date {
  return new Date(Math.max(...providers.map(({ updatedAt }) => updatedAt.getTime())));
}
