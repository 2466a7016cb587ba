import { AppError } from "../../kernel/errors.ts";

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;
const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;

/** A part of a JSON text: `start` is inclusive, `end` exclusive. */
export type Range = { readonly start: number; readonly end: number };

/** A text that is not known yet, by its name. */
export type Slot = { readonly slot: string };

/** What an edit inserts: a text, one that is not known yet, or a copy of another range. */
export type Part = string | Slot | Range;

/** Replaces the bytes at `place` by `parts`. */
export type Edit = { readonly place: Range; readonly parts: readonly Part[] };

/** Maximum repetitions of a member. An object with more is hostile, and its edits would be large. */
export const MAX_REPEATED = 16;

/**
 * The edits that set members of a valid, non-empty JSON object. A repeated member is set at every occurrence. Throws
 * `provider_error` when a member is repeated more than 16 times.
 */
export function memberEdits(object: Buffer, values: Readonly<Record<string, unknown>>): readonly Edit[] {
  return Object.entries(values).flatMap(([name, value]) => partEdits(object, name, [JSON.stringify(value)]));
}

/** The same for one member, whose value consists of `parts`. */
export function partEdits(object: Buffer, name: string, parts: readonly Part[]): readonly Edit[] {
  const places = valuesOf(object, name);
  if (places.length > MAX_REPEATED) throw repeated();
  if (places.length > 0) return places.map((place) => ({ place, parts }));
  const end = object.lastIndexOf("}");
  return [{ place: { start: end, end }, parts: [`,${JSON.stringify(name)}:`, ...parts] }];
}

/** Applies non-overlapping edits. All other bytes stay unchanged, so numbers keep their digits. */
export function withEdits(json: Buffer, edits: readonly Edit[]): Buffer {
  return edits.length === 0 ? json : Buffer.concat(editedPieces(json, edits));
}

/** The pieces of `withEdits`, for a long text. The last one ends as the text does. `slots` are texts by name. */
export function editedPieces(
  json: Buffer,
  edits: readonly Edit[],
  slots: Readonly<Record<string, string>> = {},
): readonly Buffer[] {
  const pieces: Buffer[] = [];
  let done = 0;
  for (const { place, parts } of edits.toSorted((a, b) => a.place.start - b.place.start)) {
    pieces.push(json.subarray(done, place.start));
    for (const part of parts)
      if (typeof part === "string") pieces.push(Buffer.from(part));
      else if ("slot" in part) pieces.push(Buffer.from(slots[part.slot] ?? ""));
      else pieces.push(json.subarray(part.start, part.end));
    done = place.end;
  }
  return [...pieces, json.subarray(done)];
}

/** The ranges of the values of an object's own members of this name; the object is all of `json`, or at `within`. */
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

/** The ranges of a list's items. */
export function itemsOf(json: Buffer, within: Range): readonly Range[] {
  const found: Range[] = [];
  visitParts(json, within, (part) => found.push(part));
  return found;
}

function wholeOf({ length }: Buffer): Range {
  return { start: 0, end: length };
}

/** Visits the parts of an object or list between brackets and commas; an empty one has a single empty part. */
function visitParts(json: Buffer, { start: from, end: until }: Range, visit: (part: Range) => void): void {
  // Indexing is twice as fast as on a Buffer.
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

/** Any character of a name may be written as a six-character escape. */
function isName(text: Buffer, name: string): boolean {
  if (text.length === name.length + 2) return text.toString("latin1", 1, text.length - 1) === name;
  return (
    text.length > name.length && text.length <= 6 * name.length + 2 && JSON.parse(text.toString()) === name
  );
}

/** The position of the closing quote of the string that begins at `start`. */
function endOfString(json: Buffer, start: number): number {
  for (let at = start + 1; ; at++) {
    at = json.indexOf(QUOTE, at);
    if (at === -1) return json.length;
    let backslashes = 0;
    while (json[at - 1 - backslashes] === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return at;
  }
}

/** The failure of an answer that repeats a member too often. */
export function repeated(): AppError {
  return new AppError("provider_error", "The provider's answer repeats a member.");
}
