import { AppError } from "../../../src/kernel/errors.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";

/** A key as clients name it: its bytes, or its text. */
export type NamedKey = {
  readonly key?: Hex | null | undefined;
  readonly keyText?: string | null | undefined;
};

/**
 * The bytes of a key, which may be empty. Throws `invalid_parameter` for `param` unless it is named in exactly one way.
 */
export function readKey({ key, keyText }: NamedKey, param = "key"): Buffer {
  if ((key == null) === (keyText == null))
    throw new AppError("invalid_parameter", "Give the key as bytes or as text: exactly one of the two.", {
      param,
    });
  return keyBytes(key, keyText, param === "key" ? "keyText" : `${param}.keyText`) ?? Buffer.alloc(0);
}

/** The bytes of a prefix; undefined without one. Throws `invalid_parameter` if it is named in both ways. */
export function readPrefix(
  prefix: Hex | null | undefined,
  text: string | null | undefined,
): Buffer | undefined {
  if (prefix != null && text != null)
    throw new AppError("invalid_parameter", "Give the prefix as bytes or as text, not both.", {
      param: "prefix",
    });
  return keyBytes(prefix, text, "prefixText");
}

/** Bytes decoded as UTF-8 text; null for invalid UTF-8. */
export function toText(bytes: Buffer): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

export function toHex(bytes: Buffer): Hex {
  return `0x${bytes.toString("hex")}`;
}

/**
 * A text as UTF-8. Throws `invalid_parameter` for half of a surrogate pair, which has no bytes: U+FFFD would be written
 * or looked up in its place.
 */
export function toUtf8(text: string, param: string): Buffer {
  if (text.isWellFormed()) return Buffer.from(text);
  throw new AppError("invalid_parameter", `${param}: has half of a surrogate pair`, { param });
}

function keyBytes(
  hex: Hex | null | undefined,
  text: string | null | undefined,
  textParam: string,
): Buffer | undefined {
  if (hex != null) return Buffer.from(hex.slice(2), "hex");
  return text == null ? undefined : toUtf8(text, textParam);
}
