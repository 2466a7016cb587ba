import { toTokens } from "../../data/amounts.ts";
import { Amount } from "./amount.tsx";

const TOKENS = new Set(["CHATBOT", "EMBEDDING", "RERANK"]);
const MILLION = 1_000_000n;
const UNITS: Readonly<Record<string, string>> = {
  TEXT_TO_IMAGE: "image",
  IMAGE_EDITING: "image",
  SPEECH_TO_TEXT: "second",
  TEXT_TO_SPEECH: "character",
};

/** What a price of a type of service is for: a million tokens, or one unit of the provider's. */
export function priceUnit(serviceType: string): string {
  return TOKENS.has(serviceType) ? "1M tokens" : (UNITS[serviceType] ?? "unit");
}

/** Whether a type of service is billed by tokens, of which prices are stated per million. */
export function isPerToken(serviceType: string): boolean {
  return TOKENS.has(serviceType);
}

/** A price of one token or unit, neuron, as it is stated for people: per million tokens, or per unit. */
export function statedPrice(neuron: string, serviceType: string): string {
  return isPerToken(serviceType) ? (BigInt(neuron) * MILLION).toString() : neuron;
}

/** A price of one token or unit, neuron, as it is stated for people. */
export function UnitPrice({
  neuron,
  serviceType,
  withUsd = false,
}: {
  neuron: string;
  serviceType: string;
  withUsd?: boolean;
}) {
  return <Amount neuron={statedPrice(neuron, serviceType)} places={6} withUsd={withUsd} />;
}

type Pricing = { readonly input: string; readonly output: string };

/** The prices of an offer for a column whose head names the token: those of input and output, or the only one. */
export function PricePair({ pricing, serviceType }: { pricing: Pricing; serviceType: string }) {
  const charged = [pricing.input, pricing.output].filter((neuron) => neuron !== "0");
  const texts = charged.map((neuron) => toTokens(statedPrice(neuron, serviceType), 6));
  return (
    <span className="two-lines figure">
      {texts.length === 0 ? "free" : texts.join(" / ")}
      {texts.length > 0 && <small>per {priceUnit(serviceType)}</small>}
    </span>
  );
}
