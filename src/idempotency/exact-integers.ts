/** An integer of a JSON text that JavaScript would round: its digits without zeros at the end, and a power of ten. */
export class ExactInteger {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Parsing this many values with their texts takes some milliseconds. */
const MAX_VALUES = 4_096;
/** No client computes with longer integers, and the time to read one grows with its length. */
const MAX_DIGITS = 128;
const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

type Reviver = (name: string, value: unknown, context: { readonly source?: string }) => unknown;

/** Whether a parsed value may contain an integer that JavaScript rounded. */
export function hasRoundedInteger(value: unknown): boolean {
  return countValues(value).isRounded;
}

/**
 * Parses a JSON text; an integer that JavaScript would round is an `ExactInteger`. Fractions are doubles, as in every
 * client: another notation of the same double is the same number. Undefined for a text of more values, or longer
 * integers, than are read like that. `value` is what `JSON.parse` returned for the text.
 */
export function parseExactly(text: string, value: unknown): { readonly value: unknown } | undefined {
  if (countValues(value).values > MAX_VALUES) return undefined;
  let isLong = false;
  const revive: Reviver = (_, parsed, { source = "" }) => {
    if (typeof parsed !== "number" || !mayBeRounded(parsed)) return parsed;
    if (source.length > MAX_DIGITS) isLong = true;
    return isLong ? parsed : exactInteger(parsed, source);
  };
  // TypeScript does not know the third argument yet.
  const exact = JSON.parse(text, revive as Parameters<typeof JSON.parse>[1]) as unknown;
  return isLong ? undefined : { value: exact };
}

/** Counts values. Recursion is safe: the value was parsed from a measured text, so its nesting is bounded. */
function countValues(value: unknown): { readonly values: number; readonly isRounded: boolean } {
  if (typeof value === "number") return { values: 1, isRounded: mayBeRounded(value) };
  if (typeof value !== "object" || value === null) return { values: 1, isRounded: false };
  let values = 1;
  let isRounded = false;
  for (const member of Object.values(value)) {
    const counted = countValues(member);
    values += counted.values;
    isRounded ||= counted.isRounded;
  }
  return { values, isRounded };
}

/** Whether a parsed number may come from another integer: all integers up to 2^53 are exact. */
function mayBeRounded(value: number): boolean {
  return !Number.isSafeInteger(value) && (Number.isInteger(value) || !Number.isFinite(value));
}

/** The integer of a number's text, unless the parsed number is that integer, or the text is a fraction. */
function exactInteger(parsed: number, source: string): ExactInteger | number {
  const integer = integerFrom(source);
  return integer === undefined || integer === integerFrom(String(parsed))
    ? parsed
    : new ExactInteger(integer);
}

/** An integer in one notation; undefined for a fraction. */
function integerFrom(source: string): string | undefined {
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = NUMBER.exec(source) ?? [];
  const digits = (whole + fraction).replace(/^0+/, "");
  const significant = digits.replace(/0+$/, "");
  if (significant === "") return undefined;
  const power = BigInt(exponent) - BigInt(fraction.length) + BigInt(digits.length - significant.length);
  return power < 0n ? undefined : `${sign}${significant}e${power}`;
}
