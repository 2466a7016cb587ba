import { AppError } from "../errors.ts";
import { ExactNumber } from "./exact-json.ts";

/** 10^18 neuron are one token of the network. Every amount in the product is a `bigint` of neuron. */
export const NEURON_PER_TOKEN = 10n ** 18n;
/** The largest amount that the chain and NUMERIC(78,0) can represent. */
export const MAX_NEURON = 2n ** 256n - 1n;

/** Parses neuron from a decimal integer string. Throws `invalid_parameter` for anything else. */
export function parseNeuron(text: string): bigint {
  if (!/^(0|[1-9]\d{0,77})$/.test(text) || BigInt(text) > MAX_NEURON)
    throw new AppError("invalid_parameter", "An amount must be a decimal integer of neuron, 0 to 2^256 - 1.");
  return BigInt(text);
}

/** Formats neuron as decimal tokens: `formatToken(1_500_000_000_000_000_000n)` is `"1.5"`. */
export function formatToken(neuron: bigint): string {
  const sign = neuron < 0n ? "-" : "";
  const size = neuron < 0n ? -neuron : neuron;
  const fraction = (size % NEURON_PER_TOKEN).toString().padStart(18, "0").replace(/0+$/, "");
  return `${sign}${size / NEURON_PER_TOKEN}${fraction && `.${fraction}`}`;
}

/** The same as a JSON number with all its digits, for `exactJson`. */
export function exactToken(neuron: bigint): ExactNumber {
  return new ExactNumber(formatToken(neuron));
}

/**
 * Formats a number as a decimal with all its digits and no exponent: `plainDecimal(1e-7)` is `"0.0000001"`. Other
 * values, such as `NaN`, are formatted by `String`.
 */
export function plainDecimal(value: number): string {
  const text = String(value);
  const [, sign = "", whole = "", fraction = "", exponent = ""] =
    /^(-?)(\d)(?:\.(\d+))?e([+-]\d+)$/.exec(text) ?? [];
  if (exponent === "") return text;
  const shift = Number(exponent);
  if (shift < 0) return `${sign}0.${"0".repeat(-shift - 1)}${whole}${fraction}`;
  return `${sign}${whole}${fraction.padEnd(shift, "0")}`;
}

/** Parses decimal tokens (`"0.05"`) into neuron, exactly. Throws `invalid_parameter` for anything else. */
export function parseToken(text: string): bigint {
  const parts = /^(0|[1-9]\d{0,59})(?:\.(\d{1,18}))?$/.exec(text);
  if (!parts)
    throw new AppError("invalid_parameter", "An amount of tokens must be a decimal number such as 0.05.");
  return BigInt(parts[1] ?? "0") * NEURON_PER_TOKEN + BigInt((parts[2] ?? "").padEnd(18, "0"));
}
