import { AppError } from "./errors.ts";

/**
 * The bytes of base64 in the standard alphabet, padded. Throws `invalid_parameter` for anything else, which Node alone
 * would skip.
 */
export function decodeBase64(text: string, param: string): Buffer {
  const bytes = Buffer.from(text, "base64");
  if (bytes.toString("base64") === text) return bytes;
  throw new AppError("invalid_parameter", "illegal base64 data", { param });
}
