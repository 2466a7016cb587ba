import type { ElidedTexts } from "./elided-text.ts";
import type { Fields } from "./fields.ts";
import { valuesOf } from "./json-member.ts";

/** Parsing this many values with their texts takes some 10 ms. */
const MAX_VALUES = 16_384;

/** TypeScript does not declare `JSON.rawJSON` (ES2026) yet. */
const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };
type Reviver = (name: string, value: unknown, context: { readonly source?: string }) => unknown;

/** A body, as `readPromptFields` read it. */
type Body = { readonly bytes: Buffer; readonly elided: ElidedTexts | undefined };

/**
 * The fields of a body for a new text of it: integers in the members of these names that JavaScript rounded are raw JSON,
 * which `JSON.stringify` writes with all their digits. The same object if there are none, as nearly always. A member of
 * more than 16,384 values stays as it was read.
 */
export function withExactIntegers<Read extends Fields>(
  fields: Read,
  names: readonly string[],
  { bytes, elided }: Body,
): Read {
  const rounded = names.filter((name) => hasRounded(fields[name]) && hasAtMost(fields[name], MAX_VALUES));
  if (rounded.length === 0) return fields;
  const json = elided ? elided.withoutTexts() : bytes;
  const exact = rounded.flatMap((name) =>
    valuesOf(json, name).map(({ start, end }) => {
      const value = parseExactly(json.toString("utf8", start, end));
      return [name, elided ? elided.named(value) : value] as const;
    }),
  );
  return { ...fields, ...Object.fromEntries(exact) };
}

/** Recursion is safe: the body was measured, so its nesting is bounded. */
function hasRounded(value: unknown): boolean {
  if (typeof value === "number") return isRounded(value);
  if (typeof value !== "object" || value === null) return false;
  if (Array.isArray(value)) return value.some(hasRounded);
  for (const name in value) if (hasRounded((value as Fields)[name])) return true;
  return false;
}

/** All integers up to 2^53 are exact. One that is too large for a number is infinite, and would be written as null. */
function isRounded(value: number): boolean {
  return !Number.isSafeInteger(value) && (Number.isInteger(value) || !Number.isFinite(value));
}

function hasAtMost(value: unknown, max: number): boolean {
  let left = max;
  const take = (inner: unknown): boolean =>
    --left >= 0 && (typeof inner !== "object" || inner === null || Object.values(inner).every(take));
  return take(value);
}

function parseExactly(text: string): unknown {
  const revive: Reviver = (_, value, { source }) =>
    typeof value === "number" && isRounded(value) && source !== undefined ? rawJSON(source) : value;
  return JSON.parse(text, revive as Parameters<typeof JSON.parse>[1]);
}
