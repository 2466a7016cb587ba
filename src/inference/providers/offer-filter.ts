import type { ApiFormat } from "./profile.ts";
import { type Model, type Provider, type ServiceType, type TrustMode, trustModeOf } from "./provider.ts";
import { acceptsInput } from "./service-types.ts";

/** Filters offers; every condition must hold. Prices are neuron per unit, and bounds are inclusive. */
export type OfferFilter = {
  readonly serviceTypes?: readonly ServiceType[] | undefined;
  /** Offers of one of these providers, in lower case. */
  readonly providerAddresses?: readonly string[] | undefined;
  /** Offers of this model. */
  readonly modelId?: string | undefined;
  readonly trustModes?: readonly TrustMode[] | undefined;
  readonly apiFormat?: ApiFormat | undefined;
  /** Offers that accept all of these. */
  readonly inputModalities?: readonly string[] | undefined;
  /** Offers that publish all of these. */
  readonly supportedParameters?: readonly string[] | undefined;
  /** Offers that publish a context of at least this many tokens. */
  readonly minContextLength?: number | undefined;
  readonly maxInputPrice?: bigint | undefined;
  readonly maxOutputPrice?: bigint | undefined;
};

/** What a list of offers or models may be ordered by, besides the key that also breaks ties. */
export type OfferSort = "key" | "price" | "context";

/** Whether an offer matches a filter. */
export function matchesOffer(offer: Provider, filter: OfferFilter): boolean {
  const { serviceTypes, modelId, trustModes, apiFormat, minContextLength, providerAddresses } = filter;
  const { inputModalities = [], supportedParameters = [] } = filter;
  return (
    (!serviceTypes || serviceTypes.includes(offer.serviceType)) &&
    (!providerAddresses || providerAddresses.includes(offer.address)) &&
    (modelId === undefined || offer.model === modelId) &&
    (!trustModes || trustModes.includes(trustModeOf(offer))) &&
    (!apiFormat || offer.profile.formats.includes(apiFormat)) &&
    acceptsInput(offer, inputModalities) &&
    supportedParameters.every((name) => offer.profile.supportedParameters?.includes(name)) &&
    (minContextLength === undefined || (offer.profile.contextLength ?? -1) >= minContextLength) &&
    (filter.maxInputPrice === undefined || offer.inputPrice <= filter.maxInputPrice) &&
    (filter.maxOutputPrice === undefined || offer.outputPrice <= filter.maxOutputPrice)
  );
}

/** Whether one of a model's offers matches a filter. */
export function matchesModel({ providers }: Model, filter: OfferFilter): boolean {
  return providers.some((offer) => matchesOffer(offer, filter));
}

/** A text by which offers sort as `sort` says: ascending, in the order of code units. Without an offer, it sorts first. */
export function offerSortKey(offer: Provider | undefined, key: string, sort: OfferSort): string {
  if (sort === "key") return key;
  const value = sort === "price" ? priceOf(offer) : BigInt(offer?.profile.contextLength ?? 0);
  return `${value.toString().padStart(MAX_DIGITS, "0")} ${key}`;
}

/** Digits of the sum of two numbers of 256 bits. */
const MAX_DIGITS = 78;

function priceOf(offer: Provider | undefined): bigint {
  return offer ? offer.inputPrice + offer.outputPrice : 0n;
}
