/** The bytes of a text in UTF-8. */
export function bytesOfText(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** `0x` and two digits for each byte. */
export function toHex(bytes: Uint8Array): string {
  return `0x${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

export function fromBase64(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

/** A key as text, or its bytes if it is none, or has characters that are not seen or turn the direction of text. */
export function shownKey(key: string, text: string | null | undefined): string {
  return text && !/[\p{Cc}\p{Cf}]/u.test(text) ? text : key;
}

/** Bytes from their first whole character on: a part of a text may begin within one, which has up to three more. */
export function fromCharacter(bytes: Uint8Array): Uint8Array {
  const first = bytes.subarray(0, 4).findIndex((byte) => (byte & 0xc0) !== 0x80);
  return first > 0 ? bytes.subarray(first) : bytes;
}

/** How a value is shown. */
export type ValueView = "text" | "json" | "hex";

/** The value in the most telling way; text only if all of it is valid UTF-8, or its end is cut. */
export function viewOf(bytes: Uint8Array, isCut: boolean): ValueView {
  const text = textOf(bytes, isCut);
  if (text === undefined) return "hex";
  return /^\s*[[{]/.test(text) && jsonOf(text) !== undefined ? "json" : "text";
}

/** The text of bytes in UTF-8; undefined for other bytes. A character that is cut at the end is left out. */
export function textOf(bytes: Uint8Array, isCut: boolean): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: isCut });
  } catch {
    return undefined;
  }
}

/** JSON with line breaks; undefined for other text. */
export function jsonOf(text: string): string | undefined {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return undefined;
  }
}

const LINE_BYTES = 16;

/** Bytes as lines of their offset, 16 of them, and those that are printable characters. */
export function hexLines(bytes: Uint8Array, start: number): string {
  const lines = Array.from({ length: Math.ceil(bytes.length / LINE_BYTES) }, (_, n) => {
    const part = bytes.subarray(n * LINE_BYTES, (n + 1) * LINE_BYTES);
    const digits = Array.from(part, (byte) => byte.toString(16).padStart(2, "0")).join(" ");
    const shown = Array.from(part, (byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : "."));
    const offset = (start + n * LINE_BYTES).toString(16).padStart(8, "0");
    return `${offset}  ${digits.padEnd(LINE_BYTES * 3 - 1)}  ${shown.join("")}`;
  });
  return lines.join("\n");
}
