import { isEscape, surrogateAt } from "./json-text.ts";

/** The byte range of the content of a long string in a JSON body, without its quotes. */
export type TextSpan = { readonly start: number; readonly end: number };

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const SPACE = 0x20;
const BRACKET = 0x5b;
/** In place of a number of members. */
const LIST = -1;
const OPENING: ReadonlySet<number> = new Set([0x7b, BRACKET]);
const CLOSING: ReadonlySet<number> = new Set([0x7d, 0x5d]);

/** After this many bytes without an escape, a string is searched by native code, which is slower for short ones. */
const SHORT_STRING = 64;
/** The length of an escape with four hexadecimal digits. */
const ESCAPE_LENGTH = 6;
/** No meaningful number has more characters, and the time to parse one grows with its length. */
const MAX_NUMBER_LENGTH = 1_024;
/** The most that a body of 2 MiB can have. */
const MAX_ESCAPES = 1_048_576;
/** Longer than any text that the router itself reads. */
const MIN_LONG_TEXT = 1_024;
const MAX_BYTES_OUTSIDE_STRINGS = 4 * 1_048_576;

/**
 * Limits on a JSON text, so that parsing takes a bounded time. `maxValues` bounds its values, counted as one per array,
 * object and comma, and `maxMembers` those of one object. With `maxNumbers`, numbers in lists (and true, false and null)
 * are counted apart from other values: they take a tenth of the time.
 */
export type JsonLimits = {
  readonly maxDepth: number;
  readonly maxValues: number;
  readonly maxMembers?: number;
  readonly maxNumbers?: number;
};

/** The first byte of a UTF-8 byte order mark. No JSON begins with it, whatever follows. */
export const BYTE_ORDER_MARK = 0xef;

/**
 * The limits of a client's body. They allow 10,000 messages of two parts each; parsing takes at most 20 ms. An object
 * with 45,000 different members took hundreds of milliseconds to check, copy and render.
 */
export const BODY_LIMITS: JsonLimits = { maxDepth: 64, maxValues: 65_536, maxMembers: 4_096 };

/**
 * What parsing a JSON text does not reveal: the number of members written in all its objects. `excess` completes the
 * sentence "The body ..." for a text that exceeds its limits; the numbers are then meaningless.
 */
export type JsonShape = {
  readonly members: number;
  /** The numbers that were counted apart from other values. */
  readonly numbers: number;
  readonly excess?: string;
  /** Whether a text in `longTexts` may have an escape that is invalid in JSON. */
  readonly isMalformed?: boolean;
  /** Whether a string has an escape for half of a surrogate pair, without the other half. */
  readonly hasLoneSurrogate?: boolean;
};

/**
 * Measures a JSON text before it is parsed, in one pass that skips strings. It stops at the first exceeded limit. Time
 * is linear, about 3 ns per byte, whatever the bytes are; a parser checks whether they are JSON. Strings of 1 KiB and
 * more, except member names, are added to `longTexts`, and their escapes are checked.
 */
export function measureJson(
  json: Buffer,
  { maxDepth, maxValues, maxMembers = Number.POSITIVE_INFINITY, maxNumbers }: JsonLimits,
  longTexts?: TextSpan[],
): JsonShape {
  // A plain array of bytes and one loop with local variables are five times as fast as a Buffer and a class.
  const bytes = new Uint8Array(json.buffer, json.byteOffset, json.length);
  const strings: StringScan = {
    escapes: 0,
    nextQuote: -1,
    nextBackslash: -1,
    isChecked: longTexts !== undefined,
    isMalformed: false,
    lowAt: -1,
    hasLoneSurrogate: false,
  };
  // By depth: the members of the object that is open there; `LIST` for a list.
  const ofObjects: number[] = [];
  let isLong = false;
  let [members, depth, values, numbers, outside, word] = [0, 0, 0, 0, 0, 0];
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0;
    if (++outside > MAX_BYTES_OUTSIDE_STRINGS) return beyond("has too much outside of its strings");
    if (byte === QUOTE) {
      const start = at + 1;
      at = endOfString(bytes, at, json, strings);
      isLong = at - start >= MIN_LONG_TEXT;
      if (isLong) longTexts?.push({ start, end: at });
      if (strings.escapes > MAX_ESCAPES) return beyond("has too many escaped characters");
      word = 0;
    } else if (byte <= SPACE) word = 0;
    else if (byte === COMMA) {
      if (maxNumbers !== undefined && word > 0 && ofObjects[depth] === LIST) {
        if (++numbers > maxNumbers) return beyond(`has more than ${maxNumbers} numbers`);
      } else if (++values > maxValues) return beyond(tooManyValues(maxValues));
      word = 0;
    } else if (byte === COLON) {
      members++;
      const own = (ofObjects[depth] ?? 0) + 1;
      if (own > maxMembers) return beyond("has an object with too many members");
      ofObjects[depth] = own;
      if (isLong) longTexts?.pop();
      isLong = false;
      word = 0;
    } else if (OPENING.has(byte)) {
      if (++depth > maxDepth) return beyond("is nested too deeply");
      if (++values > maxValues) return beyond(tooManyValues(maxValues));
      ofObjects[depth] = byte === BRACKET ? LIST : 0;
      word = 0;
    } else if (CLOSING.has(byte)) {
      depth--;
      word = 0;
    } else if (++word > MAX_NUMBER_LENGTH) return beyond("has a number that is too long");
  }
  const { isMalformed, hasLoneSurrogate } = strings;
  return { members, numbers, isMalformed, hasLoneSurrogate };
}

/** Completes "The body ..." for one with more values than its limit. */
export function tooManyValues(maxValues: number): string {
  return `has more than ${maxValues} values`;
}

function beyond(excess: string): JsonShape {
  return { members: 0, numbers: 0, excess };
}

/** Caches the positions found: a far quote is not searched for again after each escape. */
type StringScan = {
  escapes: number;
  nextQuote: number;
  nextBackslash: number;
  /** Whether escapes are checked, and whether one was invalid. */
  readonly isChecked: boolean;
  isMalformed: boolean;
  /** Where the second half of the last surrogate pair is. */
  lowAt: number;
  hasLoneSurrogate: boolean;
};

/** The position of the quote that ends the string starting at `start`; the text's length if there is none. */
function endOfString(bytes: Uint8Array, start: number, json: Buffer, scan: StringScan): number {
  const { length } = bytes;
  let at = start + 1;
  while (at < length) {
    const nativeFrom = Math.min(length, at + SHORT_STRING);
    while (at < nativeFrom && bytes[at] !== QUOTE && bytes[at] !== BACKSLASH) at++;
    if (at === nativeFrom) at = nextSpecial(json, at, scan);
    if (bytes[at] === QUOTE) return at;
    if (++scan.escapes > MAX_ESCAPES) return length;
    if (scan.isChecked && !isEscape(json, at)) scan.isMalformed = true;
    const half = surrogateAt(bytes, at);
    if (half === "high" && surrogateAt(bytes, at + ESCAPE_LENGTH) === "low") scan.lowAt = at + ESCAPE_LENGTH;
    else if (half !== undefined && scan.lowAt !== at) scan.hasLoneSurrogate = true;
    at += 2;
  }
  return length;
}

function nextSpecial(json: Buffer, from: number, scan: StringScan): number {
  if (scan.nextQuote < from) scan.nextQuote = placeOf(QUOTE, json, from);
  if (scan.nextBackslash < from) scan.nextBackslash = placeOf(BACKSLASH, json, from);
  return Math.min(scan.nextQuote, scan.nextBackslash);
}

function placeOf(byte: number, json: Buffer, from: number): number {
  const at = json.indexOf(byte, from);
  return at === -1 ? json.length : at;
}
