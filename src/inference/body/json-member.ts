import { concatPieces, type Piece } from "../../kernel/concat-pieces.ts";
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

/** Strings of this many bytes are read byte by byte. */
const SHORT_STRING = 32;

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

/**
 * The edits that remove the members of this name from a valid JSON object. Throws `provider_error` for more than 16.
 */
export function removals(object: Buffer, name: string): readonly Edit[] {
  const edits: Edit[] = [];
  let isFirst = true;
  visitMembers(object, bytesOf(object), wholeOf(object), (key, { start, end }) => {
    if (!isName(object, bytesOf(object), key, name)) {
      isFirst = false;
      return;
    }
    // With the comma before it or, where all members before it are removed, with the one after it.
    const hasNext = object[end] === COMMA;
    const place = isFirst ? { start, end: hasNext ? end + 1 : end } : { start: start - 1, end };
    edits.push({ place, parts: [] });
  });
  if (edits.length > MAX_REPEATED) throw repeated();
  return edits;
}

/** Applies non-overlapping edits. All other bytes stay unchanged, so numbers keep their digits. */
export function withEdits(json: Buffer, edits: readonly Edit[]): Buffer {
  if (edits.length === 0) return json;
  const { pieces, end } = editedPieces(json, edits);
  return concatPieces([...pieces, end]);
}

/**
 * The pieces of `withEdits`, for a long text: those up to the last edit, and the `end` of the text after it. `slots` are
 * texts by name.
 */
export function editedPieces(
  json: Buffer,
  edits: readonly Edit[],
  slots: Readonly<Record<string, string>> = {},
): { readonly pieces: readonly Piece[]; readonly end: Buffer } {
  const pieces: Piece[] = [];
  let done = 0;
  for (const { place, parts } of inOrder(edits)) {
    pieces.push(json.subarray(done, place.start));
    let text = "";
    for (const part of parts) {
      if (typeof part === "string") text += part;
      else if ("slot" in part) text += slots[part.slot] ?? "";
      else {
        pieces.push(text, json.subarray(part.start, part.end));
        text = "";
      }
    }
    if (text !== "") pieces.push(text);
    done = place.end;
  }
  return { pieces, end: json.subarray(done) };
}

function inOrder(edits: readonly Edit[]): readonly Edit[] {
  return edits.length > 1 ? edits.toSorted((a, b) => a.place.start - b.place.start) : edits;
}

/** The ranges of the values of an object's own members of this name; the object is all of `json`, or at `within`. */
export function valuesOf(json: Buffer, name: string, within = wholeOf(json)): readonly Range[] {
  return valuesByName(json, [name], within)[0] ?? [];
}

/** The same for several names of ASCII characters, in the order of the names. */
export function valuesByName(
  json: Buffer,
  names: readonly string[],
  within = wholeOf(json),
): readonly (readonly Range[])[] {
  const bytes = bytesOf(json);
  const found = names.map((): Range[] => []);
  visitMembers(json, bytes, within, (key, { end }) => {
    for (let n = 0; n < names.length; n++) {
      if (!isName(json, bytes, key, names[n] ?? "")) continue;
      let colon = key.end + 1;
      while (colon < end && bytes[colon] !== COLON) colon++;
      found[n]?.push({ start: colon + 1, end });
      return;
    }
  });
  return found;
}

/** The members of an object, in order: the quotes of each name, and the whole member. */
export function membersOf(object: Buffer): readonly { readonly name: Range; readonly member: Range }[] {
  const found: { readonly name: Range; readonly member: Range }[] = [];
  visitMembers(object, bytesOf(object), wholeOf(object), (name, member) => found.push({ name, member }));
  return found;
}

/** The ranges of a list's items. */
export function itemsOf(json: Buffer, within: Range): readonly Range[] {
  const found: Range[] = [];
  visitParts(json, bytesOf(json), within, (start, end) => found.push({ start, end }));
  return found;
}

function wholeOf({ length }: Buffer): Range {
  return { start: 0, end: length };
}

/** The same memory: indexing is twice as fast as on a Buffer. */
function bytesOf({ buffer, byteOffset, length }: Buffer): Uint8Array {
  return new Uint8Array(buffer, byteOffset, length);
}

/** Visits the members of an object: the quotes of the name, and the whole member. */
function visitMembers(
  json: Buffer,
  bytes: Uint8Array,
  within: Range,
  visit: (name: Range, member: Range) => void,
): void {
  visitParts(json, bytes, within, (start, end) => {
    let quote = start;
    while (quote < end && bytes[quote] !== QUOTE) quote++;
    if (quote < end) visit({ start: quote, end: endOfString(json, bytes, quote) }, { start, end });
  });
}

/** Visits the parts of an object or list between brackets and commas; an empty one has a single empty part. */
function visitParts(
  json: Buffer,
  bytes: Uint8Array,
  { start: from, end: until }: Range,
  visit: (start: number, end: number) => void,
): void {
  let depth = 0;
  let start = from;
  for (let at = from; at < until; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) at = endOfString(json, bytes, at);
    else if (byte === OPENING_BRACE || byte === OPENING_BRACKET) {
      if (++depth === 1) start = at + 1;
    } else if (
      (byte === COMMA && depth === 1) ||
      ((byte === CLOSING_BRACE || byte === CLOSING_BRACKET) && --depth === 0)
    ) {
      visit(start, at);
      start = at + 1;
    }
  }
}

/** Whether lists and objects of a text are nested in more than `levels`, in one pass that skips strings. */
export function isNestedDeeper(json: Buffer, levels: number): boolean {
  const bytes = bytesOf(json);
  let depth = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) at = endOfString(json, bytes, at);
    else if (byte === OPENING_BRACE || byte === OPENING_BRACKET) {
      if (++depth > levels) return true;
    } else if (byte === CLOSING_BRACE || byte === CLOSING_BRACKET) depth--;
  }
  return false;
}

/** Whether the string between these quotes is `name`. Any character of it may be written as a six-character escape. */
function isName(json: Buffer, bytes: Uint8Array, { start, end }: Range, name: string): boolean {
  const length = end - start - 1;
  if (length < name.length || length > 6 * name.length) return false;
  const isEscaped = length > name.length;
  for (let at = 0; at < length; at++) {
    const byte = bytes[start + 1 + at];
    if (isEscaped && byte === BACKSLASH) return JSON.parse(json.toString("utf8", start, end + 1)) === name;
    if (byte !== name.charCodeAt(at)) return false;
  }
  return !isEscaped;
}

/** The position of the closing quote of the string that begins at `start`. */
function endOfString(json: Buffer, bytes: Uint8Array, start: number): number {
  let at = start + 1;
  // Most strings are short: a search in native code takes longer to begin than they take to read.
  const far = Math.min(at + SHORT_STRING, bytes.length);
  for (; at < far; at++) {
    if (bytes[at] === QUOTE) return at;
    if (bytes[at] === BACKSLASH) at++;
  }
  for (; ; at++) {
    at = json.indexOf(QUOTE, at);
    if (at === -1) return json.length;
    let backslashes = 0;
    while (bytes[at - 1 - backslashes] === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return at;
  }
}

/** The failure of an answer that repeats a member too often. */
export function repeated(): AppError {
  return new AppError("provider_error", "The provider's answer repeats a member.");
}
