import { TurnMeter } from "../async/turn-queue.ts";

/** The character that stands behind a backslash in a text of JSON, and the one that it stands for; 0 for none. */
export const ESCAPES = new Uint8Array(256);
for (const [letter, character] of ['""', "\\\\", "//", "b\b", "f\f", "n\n", "r\r", "t\t"])
  ESCAPES[letter?.charCodeAt(0) ?? 0] = character?.charCodeAt(0) ?? 0;

const LETTER_U = 0x75;
const HEX_DIGITS = 4;
const HEX = /^[0-9a-fA-F]{4}$/;
/** Characters that JSON allows in no text but behind a backslash. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it is what is searched for.
const CONTROL_CHARACTER = /[\u0000-\u001f]/;

/** Whether bytes of a text of JSON have a character that must be escaped there: 1 ns a byte. */
export function hasControlCharacter(piece: Buffer): boolean {
  return CONTROL_CHARACTER.test(piece.toString("latin1"));
}

/** The character that four hexadecimal digits behind `\u` stand for; undefined where they are none. */
export function characterOf(digits: string): number | undefined {
  return HEX.test(digits) ? Number.parseInt(digits, 16) : undefined;
}

/** Whether the escape whose backslash is at `at` is one of JSON's. */
export function isEscape(json: Buffer, at: number): boolean {
  const letter = json[at + 1] ?? 0;
  if (letter !== LETTER_U) return ESCAPES[letter] !== 0;
  return characterOf(json.toString("latin1", at + 2, at + 2 + HEX_DIGITS)) !== undefined;
}

/** Whether any of these parts has a control character, looked for in as many turns of the event loop as it takes. */
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
