/** Deeper values hold no exact numbers of ours: answers of providers may be nested without end. */
const MAX_DEPTH = 6;
const DECIMAL = /^-?(0|[1-9]\d*)(\.\d+)?$/;

/** A decimal that `exactJson` writes as a JSON number with all its digits. */
export class ExactNumber {
  /** A decimal without an exponent, such as `0.000000000000000038`. */
  readonly digits: string;

  /** Throws for anything but a decimal. */
  constructor(digits: string) {
    if (!DECIMAL.test(digits)) throw new Error(`not a decimal: ${JSON.stringify(digits)}`);
    this.digits = digits;
  }

  /** The nearest number that JavaScript has, where only `JSON.stringify` is at hand. */
  toJSON(): number {
    return Number(this.digits);
  }
}

/**
 * The same text as `JSON.stringify`, but with all digits of each `ExactNumber` that is at most six levels deep: a number
 * of JavaScript would be rounded to 17 digits, and small ones would get an exponent.
 */
export function exactJson(value: unknown, depth = 0): string {
  if (value instanceof ExactNumber) return value.digits;
  if (depth < MAX_DEPTH && Array.isArray(value))
    return `[${value.map((item) => exactJson(item ?? null, depth + 1)).join()}]`;
  if (depth < MAX_DEPTH && isPlain(value)) {
    const members = Object.entries(value)
      .filter(([, member]) => member !== undefined)
      .map(([name, member]) => `${JSON.stringify(name)}:${exactJson(member, depth + 1)}`);
    return `{${members.join()}}`;
  }
  return JSON.stringify(value);
}

/** Whether a value is an object that JSON writes member by member. */
function isPlain(value: unknown): value is object {
  return typeof value === "object" && value !== null && !("toJSON" in value);
}
