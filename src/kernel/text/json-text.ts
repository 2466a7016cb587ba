import { TurnMeter } from "../async/turn-queue.ts";

/** Maps the character after a backslash in a JSON string to the character that the escape means; 0 if invalid. */
export const ESCAPES = new Uint8Array(256);
for (const [letter, character] of ['""', "\\\\", "//", "b\b", "f\f", "n\n", "r\r", "t\t"])
  ESCAPES[letter?.charCodeAt(0) ?? 0] = character?.charCodeAt(0) ?? 0;

const BACKSLASH = 0x5c;
const LETTER_D = 0x64;
const LETTER_U = 0x75;
/** The bit by which lower-case letters differ from the others. */
const LOWER_CASE = 0x20;
const HEX_DIGITS = 4;
const HEX = /^[0-9a-fA-F]{4}$/;
/** Characters that must be escaped in a JSON string. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are searched for.
const CONTROL_CHARACTER = /[\u0000-\u001f]/;

/** Whether bytes of a JSON string contain a character that must be escaped: 1 ns per byte. */
export function hasControlCharacter(piece: Buffer): boolean {
  return CONTROL_CHARACTER.test(piece.toString("latin1"));
}

/** The character of four hexadecimal digits after `\u`; undefined for invalid digits. */
export function characterOf(digits: string): number | undefined {
  return HEX.test(digits) ? Number.parseInt(digits, 16) : undefined;
}

/** Whether the escape whose backslash is at `at` is valid JSON. */
export function isEscape(json: Buffer, at: number): boolean {
  const letter = json[at + 1] ?? 0;
  if (letter !== LETTER_U) return ESCAPES[letter] !== 0;
  return characterOf(json.toString("latin1", at + 2, at + 2 + HEX_DIGITS)) !== undefined;
}

/**
 * Which half of a surrogate pair the escape at `at` means, such as `\ud83d`; undefined for any other. Two bytes decide,
 * since no other escape begins like this: a text of a million escapes takes a few milliseconds.
 */
export function surrogateAt(bytes: Uint8Array, at: number): "high" | "low" | undefined {
  if (bytes[at] !== BACKSLASH || bytes[at + 1] !== LETTER_U) return undefined;
  if (((bytes[at + 2] ?? 0) | LOWER_CASE) !== LETTER_D) return undefined;
  const digit = bytes[at + 3] ?? 0;
  if (digit === 0x38 || digit === 0x39) return "high";
  const letter = digit | LOWER_CASE;
  if (letter === 0x61 || letter === 0x62) return "high";
  return letter >= 0x63 && letter <= 0x66 ? "low" : undefined;
}

/** Whether any of these parts has a control character; searches in as many turns of the event loop as needed. */
export async function hasControlCharacterInTurns(parts: Iterable<Buffer>): Promise<boolean> {
  const meter = new TurnMeter();
  for (const part of parts)
    for (let at = 0; at < part.length; ) {
      const piece = part.subarray(at, at + meter.leftBytes);
      if (hasControlCharacter(piece)) return true;
      at += piece.length;
      await meter.spend(piece.length);
    }
  return false;
}
