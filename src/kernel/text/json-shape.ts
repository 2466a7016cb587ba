import { endOfString, MAX_ESCAPES, newStringScan } from "./json-strings.ts";
import { hasMoreShapes } from "./object-shapes.ts";
import { endOfTokens } from "./token-list.ts";

/** The byte range of a long string of a JSON body, with its quotes, or of a long list of tokens, with its brackets. */
export type ValueSpan = { readonly start: number; readonly end: number };

/**
 * Where to add the long strings of a text, except member names, and, with `maxNumbers`, its long lists of tokens; and
 * how many bytes the rest may have.
 */
export type Elision = { readonly spans: ValueSpan[]; readonly maxKeptBytes: number };

/** The most bytes of what stands for a long value in the rest. */
export const PLACEHOLDER_BYTES = 50;

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
/** The least bytes of a long string, or list of tokens: names have at most 256 letters. */
export const MIN_LONG_TEXT = 257;
const ANY = Number.POSITIVE_INFINITY;
const MAX_BYTES_OUTSIDE_STRINGS = 4 * 1_048_576;
/** 524,288 tokens of 10 digits, with a comma each. */
const MAX_BYTES_OF_LISTS = 6 * 1_048_576;

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
  /** With `excess`: the outermost object's member that is to blame, since more than half of what was read is in it. */
  readonly member?: string;
  /** Whether a long string may have an escape that is invalid in JSON. */
  readonly isMalformed?: boolean;
  /** Whether a string has an escape for half of a surrogate pair, without the other half. */
  readonly hasLoneSurrogate?: boolean;
};

/**
 * Measures a JSON text before it is parsed, in one pass that skips strings. It stops at the first exceeded limit. Time
 * is linear, about 3 ns per byte, whatever the bytes are; a parser checks whether they are JSON. With `elision`, the
 * escapes of strings are checked.
 */
export function measureJson(
  json: Buffer,
  { maxDepth, maxValues, maxMembers = ANY, maxShapes = ANY, maxNumbers }: JsonLimits,
  elision?: Elision,
): JsonShape {
  // A plain array of bytes and one loop with local variables are five times as fast as a Buffer and a class.
  const bytes = new Uint8Array(json.buffer, json.byteOffset, json.length);
  const strings = newStringScan(elision !== undefined);
  const { spans, maxKeptBytes = ANY } = elision ?? {};
  const mayElideLists = spans !== undefined && maxNumbers !== undefined;
  // By depth: the members of the object that is open there; `LIST` for a list.
  const ofObjects: number[] = [];
  let isLong = false;
  let [members, depth, values, numbers, outside, word] = [0, 0, 0, 0, 0, 0];
  /** Bytes of short strings and placeholders; of lists of tokens; where the last string is, and the last own name. */
  let [texts, lists, quote, end, own, ownEnd] = [0, 0, 0, 0, -1, -1];
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0;
    if (++outside > MAX_BYTES_OUTSIDE_STRINGS || outside + texts > maxKeptBytes)
      return beyond(tooManyBytes(elision), json, { own, ownEnd, at });
    if (byte === QUOTE) {
      quote = at;
      at = end = endOfString(bytes, at, json, strings);
      isLong = spans !== undefined && end - quote > MIN_LONG_TEXT;
      if (isLong) spans?.push({ start: quote, end: end + 1 });
      texts += isLong ? PLACEHOLDER_BYTES : end - quote;
      if (strings.escapes > MAX_ESCAPES)
        return beyond(`has more than ${MAX_ESCAPES} escaped characters`, json, { own, ownEnd, at });
      word = 0;
    } else if (byte <= SPACE) word = 0;
    else if (byte === COMMA) {
      if (maxNumbers !== undefined && word > 0 && ofObjects[depth] === LIST) {
        if (++numbers > maxNumbers) return beyond(tooManyNumbers(maxNumbers), json, { own, ownEnd, at });
      } else if (++values > maxValues) return beyond(tooManyValues(maxValues), json, { own, ownEnd, at });
      word = 0;
    } else if (byte === COLON) {
      members++;
      const count = (ofObjects[depth] ?? 0) + 1;
      if (count > maxMembers)
        return beyond(`has an object with more than ${maxMembers} members`, json, { own, ownEnd, at });
      ofObjects[depth] = count;
      if (isLong) {
        spans?.pop();
        texts += end - quote - PLACEHOLDER_BYTES;
        isLong = false;
      }
      if (depth === 1) [own, ownEnd] = [quote, end];
      word = 0;
    } else if (OPENING.has(byte)) {
      if (++depth > maxDepth)
        return beyond(`is nested in more than ${maxDepth} levels`, json, { own, ownEnd, at });
      if (++values > maxValues) return beyond(tooManyValues(maxValues), json, { own, ownEnd, at });
      ofObjects[depth] = byte === BRACKET ? LIST : 0;
      word = 0;
      const list = mayElideLists && byte === BRACKET ? endOfTokens(bytes, at) : undefined;
      if (!list || list.end - at < MIN_LONG_TEXT) continue;
      spans?.push({ start: at, end: list.end + 1 });
      texts += PLACEHOLDER_BYTES;
      lists += list.end - at;
      numbers += list.commas;
      at = list.end;
      depth--;
      if (numbers > (maxNumbers ?? ANY))
        return beyond(tooManyNumbers(maxNumbers ?? ANY), json, { own, ownEnd, at });
      if (lists > MAX_BYTES_OF_LISTS)
        return beyond(`has more than ${MAX_BYTES_OF_LISTS} bytes of tokens`, json, { own, ownEnd, at });
    } else if (CLOSING.has(byte)) {
      depth--;
      word = 0;
    } else if (++word > MAX_NUMBER_LENGTH)
      return beyond(`has a number of more than ${MAX_NUMBER_LENGTH} characters`, json, { own, ownEnd, at });
  }
  // A text with fewer members is not read again: most are.
  if (members > maxShapes && hasMoreShapes(json, maxShapes)) return excessive(tooManyShapes(maxShapes));
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

function tooManyNumbers(maxNumbers: number): string {
  return `has more than ${maxNumbers} numbers in lists`;
}

function tooManyBytes(elision: Elision | undefined): string {
  return elision
    ? `has more than ${elision.maxKeptBytes} bytes besides strings of ${MIN_LONG_TEXT} bytes and more and lists of tokens`
    : `has more than ${MAX_BYTES_OUTSIDE_STRINGS} bytes outside of its strings`;
}

/** `own` and `ownEnd` are the quotes of the name of the last of the outermost object's members; `at` is in its value. */
function beyond(
  excess: string,
  json: Buffer,
  { own, ownEnd, at }: { readonly own: number; readonly ownEnd: number; readonly at: number },
): JsonShape {
  if (own < 0 || at - own <= at / 2) return excessive(excess);
  try {
    return { ...excessive(excess), member: String(JSON.parse(json.toString("utf8", own, ownEnd + 1))) };
  } catch {
    // Text that only resembles JSON has no names.
    return excessive(excess);
  }
}

function excessive(excess: string): JsonShape {
  return { members: 0, numbers: 0, excess };
}
