const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const OPENING: ReadonlySet<number> = new Set([0x7b, 0x5b]);
const CLOSING: ReadonlySet<number> = new Set([0x7d, 0x5d]);

/** What parsing does not tell of a JSON text: how often a member is written at its top, and how deeply it is nested. */
export type JsonShape = { readonly members: number; readonly depth: number };

/** Measures a JSON text that was parsed before, in one pass that skips strings. */
export function measureJson(json: Buffer): JsonShape {
  let members = 0;
  let depth = 0;
  let deepest = 0;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at] ?? 0;
    if (byte === QUOTE) at = endOfString(json, at);
    else if (byte === COLON) members += depth === 1 ? 1 : 0;
    else if (OPENING.has(byte)) deepest = Math.max(deepest, ++depth);
    else if (CLOSING.has(byte)) depth--;
  }
  return { members, depth: deepest };
}

function endOfString(json: Buffer, start: number): number {
  for (let end = json.indexOf(QUOTE, start + 1); end !== -1; end = json.indexOf(QUOTE, end + 1)) {
    let slashes = 0;
    while (json[end - 1 - slashes] === BACKSLASH) slashes++;
    if (slashes % 2 === 0) return end;
  }
  return json.length;
}
