import { ElidedTokens } from "./elided-text.ts";

/** Whether a value is a list of tokens, parsed or elided. */
export function isTokenList(value: unknown): boolean {
  if (value instanceof ElidedTokens) return true;
  return Array.isArray(value) && value.length > 0 && value.every(isToken);
}

/** The number of inputs of a text, a list of tokens, which is one input, or a list of these. */
export function inputsOf(input: unknown): number {
  return Array.isArray(input) && typeof input[0] !== "number" ? input.length : 1;
}

function isToken(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
