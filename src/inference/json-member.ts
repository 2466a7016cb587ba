import { appendFields } from "./request-fields.ts";

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPENING: ReadonlySet<number | undefined> = new Set([0x7b, 0x5b]);
const CLOSING: ReadonlySet<number | undefined> = new Set([0x7d, 0x5d]);

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

type Range = { readonly start: number; readonly end: number };

/** Where the values of the object's own members of this name are. */
function valuesOf(object: Buffer, name: string): readonly Range[] {
  const found: Range[] = [];
  let depth = 0;
  let isNamed = false;
  let start: number | undefined;
  for (let at = 0; at < object.length; at++) {
    const byte = object[at];
    if (byte === QUOTE) {
      const end = endOfString(object, at);
      if (depth === 1 && start === undefined) isNamed = isName(object.subarray(at, end + 1), name);
      at = end;
    } else if (OPENING.has(byte)) depth++;
    else if (byte === COLON && depth === 1) start = at + 1;
    else if ((byte === COMMA && depth === 1) || (CLOSING.has(byte) && --depth === 0)) {
      if (isNamed && start !== undefined) found.push({ start, end: at });
      isNamed = false;
      start = undefined;
    }
  }
  return found;
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
