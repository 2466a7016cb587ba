import { createHash } from "node:crypto";
import { type Form, readMultipart } from "../inference/multipart.ts";
import { mediaTypeOf } from "./headers.ts";

/**
 * What a repeated request is compared by: the body, or of a form its parts, since clients separate them by another
 * boundary each time.
 */
export function comparableBody(body: Buffer, contentType: string): Buffer {
  if (mediaTypeOf(contentType) !== "multipart/form-data") return body;
  let form: Form;
  try {
    form = readMultipart(body, contentType);
  } catch {
    return body;
  }
  const hash = createHash("sha256");
  for (const { name, filename, contentType: type, bytes } of form.parts)
    hash.update(`${JSON.stringify([name, filename, type, bytes.length])}\n`).update(bytes);
  return hash.digest();
}
