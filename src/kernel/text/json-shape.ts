import { endOfString, MAX_ESCAPES, newStringScan } from "./json-strings.ts";
import { hasMoreShapes } from "./object-shapes.ts";

/** The byte range of the content of a long string in a JSON body, without its quotes. */
export type TextSpan = { readonly start: number; readonly end: number };

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const SPACE = 0x20;
const BRACKET = 0x5b;
/** In place of a number of members. */
const LIST = -1;
const OPENING: ReadonlySet<number> = new Set([0x7b, BRACKET]);
const CLOSING: ReadonlySet<number> = new Set([0x7d, 0x5d]);

/** No meaningful number has more characters, and the time to parse one grows with its length. */
const MAX_NUMBER_LENGTH = 1_024;
/** Longer than any text that the router itself reads. */
const MIN_LONG_TEXT = 1_024;
const ANY = Number.POSITIVE_INFINITY;
const MAX_BYTES_OUTSIDE_STRINGS = 4 * 1_048_576;

/**
 * Limits on a JSON text, so that parsing takes a bounded time. `maxValues` bounds its values, counted as one per array,
 * object and comma, `maxMembers` the members of one object, and `maxShapes` the different shapes of all objects. With
 * `maxNumbers`, numbers in lists (and true, false and null) are counted apart from other values: they take a tenth of
 * the time.
 */
export type JsonLimits = {
  readonly maxDepth: number;
  readonly maxValues: number;
  readonly maxMembers?: number;
  readonly maxShapes?: number;
  readonly maxNumbers?: number;
};

/** The first byte of a UTF-8 byte order mark. No JSON begins with it, whatever follows. */
export const BYTE_ORDER_MARK = 0xef;

/**
 * The most different shapes of objects in a text that is parsed in one turn: 128 tools with 60 parameters each have as
 * many. 28,000 shapes blocked the event loop for 70 to 220 ms.
 */
export const MAX_SHAPES = 8_192;

/**
 * The limits of a client's body. They allow 10,000 messages of two parts each; parsing takes at most 20 ms. An object
 * with 45,000 different members took hundreds of milliseconds to check, copy and render.
 */
export const BODY_LIMITS: JsonLimits = {
  maxDepth: 64,
  maxValues: 65_536,
  maxMembers: 4_096,
  maxShapes: MAX_SHAPES,
};

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
  { maxDepth, maxValues, maxMembers = ANY, maxShapes = ANY, maxNumbers }: JsonLimits,
  longTexts?: TextSpan[],
): JsonShape {
  // A plain array of bytes and one loop with local variables are five times as fast as a Buffer and a class.
  const bytes = new Uint8Array(json.buffer, json.byteOffset, json.length);
  const strings = newStringScan(longTexts !== undefined);
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
  // A text with fewer members is not read again: most are.
  if (members > maxShapes && hasMoreShapes(json, maxShapes)) return beyond(tooManyShapes(maxShapes));
  const { isMalformed, hasLoneSurrogate } = strings;
  return { members, numbers, isMalformed, hasLoneSurrogate };
}

/** Completes "The body ..." for one with more values than its limit. */
export function tooManyValues(maxValues: number): string {
  return `has more than ${maxValues} values`;
}

function tooManyShapes(maxShapes: number): string {
  return `has more than ${maxShapes} different member names, or orders of them`;
}

function beyond(excess: string): JsonShape {
  return { members: 0, numbers: 0, excess };
}
