import { AppError } from "../errors.ts";

/**
 * Decodes padded base64 in the standard alphabet. Throws `invalid_parameter` for other characters, which Node itself
 * would skip.
 */
export function decodeBase64(text: string, param: string): Buffer {
  const bytes = readBase64(text);
  if (bytes) return bytes;
  throw new AppError("invalid_parameter", `${param}: illegal base64 data`, { param });
}

/** The same; undefined for anything else. */
export function readBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, "base64");
  return bytes.toString("base64") === text ? bytes : undefined;
}
