import { Amount } from "./amount.tsx";

const TOKENS = new Set(["CHATBOT", "EMBEDDING", "RERANK"]);
const MILLION = 1_000_000n;

/** What a price of a type of service is for: a million tokens, or one unit of the provider's. */
export function priceUnit(serviceType: string): string {
  return TOKENS.has(serviceType) ? "1M tokens" : serviceType.includes("IMAGE") ? "image" : "unit";
}

/** A price of one token or unit, neuron, as it is stated for people: per million tokens, or per unit. */
export function UnitPrice({
  neuron,
  serviceType,
  withUsd = false,
}: {
  neuron: string;
  serviceType: string;
  withUsd?: boolean;
}) {
  const price = TOKENS.has(serviceType) ? (BigInt(neuron) * MILLION).toString() : neuron;
  return <Amount neuron={price} places={6} withUsd={withUsd} />;
}
