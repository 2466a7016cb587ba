import type { Provider } from "./provider.ts";

/** A provider's model. The address is in lower case. */
export type Offer = { readonly provider: string; readonly model: string };

/** The offer of a provider. */
export function offerOf({ address, model }: Pick<Provider, "address" | "model">): Offer {
  return { provider: address.toLowerCase(), model };
}

/** Names an offer in maps. */
export function offerKey({ provider, model }: Offer): string {
  return `${provider} ${model}`;
}
