import { isEscape, surrogateAt } from "./json-text.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** After this many bytes without an escape, a string is searched by native code, which is slower for short ones. */
const SHORT_STRING = 64;
/** The length of an escape with four hexadecimal digits. */
const ESCAPE_LENGTH = 6;
/** The most that a body of 2 MiB can have. */
export const MAX_ESCAPES = 1_048_576;

/** Caches the positions found: a far quote is not searched for again after each escape. */
export type StringScan = {
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

/** A scan of a text from its beginning. */
export function newStringScan(isChecked: boolean): StringScan {
  return {
    escapes: 0,
    nextQuote: -1,
    nextBackslash: -1,
    isChecked,
    isMalformed: false,
    lowAt: -1,
    hasLoneSurrogate: false,
  };
}

/** The position of the quote that ends the string starting at `start`; the text's length if there is none. */
export function endOfString(bytes: Uint8Array, start: number, json: Buffer, scan: StringScan): number {
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
