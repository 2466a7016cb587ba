import { TurnMeter } from "../async/turn-queue.ts";

/** Maps the character after a backslash in a JSON string to the character that the escape means; 0 if invalid. */
export const ESCAPES = new Uint8Array(256);
for (const [letter, character] of ['""', "\\\\", "//", "b\b", "f\f", "n\n", "r\r", "t\t"])
  ESCAPES[letter?.charCodeAt(0) ?? 0] = character?.charCodeAt(0) ?? 0;

const LETTER_U = 0x75;
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
