/** What receipts consist of: JSON whose only numbers are integers that every reader represents exactly. */
export type CanonicalValue =
  | string
  | number
  | boolean
  | null
  | readonly CanonicalValue[]
  | { readonly [name: string]: CanonicalValue };

const MAX_DEPTH = 32;

/**
 * JSON in the one form of RFC 8785 (JCS): no whitespace, and members in the order of the UTF-16 code units of their
 * names. Throws a `TypeError` for what has no such form or is not allowed here: fractions, integers that a double does
 * not represent exactly, lone surrogates, `undefined`, objects of a class, and more than 32 levels.
 */
export function canonicalJson(value: unknown): string {
  // JSON.stringify takes a sixth of the time, and renders what it is given in the order that it has.
  return isInOrder(value, 0) ? JSON.stringify(value) : render(value, 0);
}

/** Whether a value is allowed and has its members in order. False also for what `render` is to judge. */
function isInOrder(value: unknown, depth: number): boolean {
  if (value === null || typeof value === "boolean") return true;
  if (typeof value === "string") return value.isWellFormed();
  if (typeof value === "number") return Number.isSafeInteger(value);
  if (depth >= MAX_DEPTH || !isPlainObject(value)) return false;
  let last = "";
  for (const name of Object.keys(value)) {
    // A JavaScript object has names that are integers first, in another order.
    if (name < last || isInteger(name) || !name.isWellFormed()) return false;
    if (!isInOrder(value[name], depth + 1)) return false;
    last = name;
  }
  return true;
}

function isInteger(name: string): boolean {
  const first = name.charCodeAt(0);
  return first >= ZERO && first <= NINE;
}

const ZERO = "0".charCodeAt(0);
const NINE = "9".charCodeAt(0);

function render(value: unknown, depth: number): string {
  if (depth > MAX_DEPTH) throw new TypeError("JSON is nested too deeply");
  if (value === null || typeof value === "boolean") return String(value);
  if (typeof value === "string") return renderString(value);
  if (typeof value === "number") return renderInteger(value);
  if (Array.isArray(value)) return `[${Array.from(value, (item) => render(item, depth + 1)).join(",")}]`;
  if (isPlainObject(value)) return renderObject(value, depth);
  throw new TypeError(`canonical JSON has no ${typeof value}`);
}

function renderString(text: string): string {
  if (!text.isWellFormed()) throw new TypeError("a string has a lone surrogate");
  // ECMAScript's escapes are those of RFC 8785.
  return JSON.stringify(text);
}

function renderInteger(value: number): string {
  if (!Number.isSafeInteger(value)) throw new TypeError(`${value} is not an exact integer`);
  return JSON.stringify(value);
}

function renderObject(value: Record<string, unknown>, depth: number): string {
  // The default order of `sort` is that of UTF-16 code units.
  const names = Object.keys(value).sort();
  return `{${names.map((name) => `${renderString(name)}:${render(value[name], depth + 1)}`).join(",")}}`;
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
