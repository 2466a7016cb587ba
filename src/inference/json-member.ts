import { appendFields } from "./request-fields.ts";

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;
const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;

/**
 * Sets a member of a JSON object that was parsed before and has at least one, and leaves all other bytes alone: numbers
 * keep their digits. A member that stands there twice is set twice.
 */
export function setMember(object: Buffer, name: string, value: unknown): Buffer {
  const places = valuesOf(object, name);
  if (places.length === 0) return appendFields(object, { [name]: value });
  const text = Buffer.from(JSON.stringify(value));
  const parts: Buffer[] = [];
  let done = 0;
  for (const { start, end } of places) {
    parts.push(object.subarray(done, start), text);
    done = end;
  }
  return Buffer.concat([...parts, object.subarray(done)]);
}

/** A part of a JSON text: the places of its first byte and of the one after it. */
export type Range = { readonly start: number; readonly end: number };

/** Where the values of an object's own members of this name are; the object is all of `json`, or what is `within`. */
export function valuesOf(json: Buffer, name: string, within = wholeOf(json)): readonly Range[] {
  const found: Range[] = [];
  visitParts(json, within, (part) => {
    const quote = json.indexOf(QUOTE, part.start);
    if (quote < 0 || quote >= part.end) return;
    const end = endOfString(json, quote);
    if (!isName(json.subarray(quote, end + 1), name)) return;
    found.push({ start: json.indexOf(COLON, end) + 1, end: part.end });
  });
  return found;
}

/** Where the items of a list are. */
export function itemsOf(json: Buffer, within: Range): readonly Range[] {
  const found: Range[] = [];
  visitParts(json, within, (part) => found.push(part));
  return found;
}

function wholeOf({ length }: Buffer): Range {
  return { start: 0, end: length };
}

/** Visits what stands between the brackets and commas of an object or a list, an empty one's nothing as well. */
function visitParts(json: Buffer, { start: from, end: until }: Range, visit: (part: Range) => void): void {
  // Twice as fast as a Buffer.
  const bytes = new Uint8Array(json.buffer, json.byteOffset, json.length);
  let depth = 0;
  let start = from;
  for (let at = from; at < until; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) at = endOfString(json, at);
    else if (byte === OPENING_BRACE || byte === OPENING_BRACKET) {
      if (++depth === 1) start = at + 1;
    } else if (
      (byte === COMMA && depth === 1) ||
      ((byte === CLOSING_BRACE || byte === CLOSING_BRACKET) && --depth === 0)
    ) {
      visit({ start, end: at });
      start = at + 1;
    }
  }
}

/** Any character of a name may be written as an escape of six. */
function isName(text: Buffer, name: string): boolean {
  return text.length <= 6 * name.length + 2 && JSON.parse(text.toString()) === name;
}

/** The place of the quote that ends the string which begins at `start`. */
function endOfString(json: Buffer, start: number): number {
  for (let at = start + 1; ; at++) {
    at = json.indexOf(QUOTE, at);
    if (at === -1) return json.length;
    let backslashes = 0;
    while (json[at - 1 - backslashes] === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return at;
  }
}
