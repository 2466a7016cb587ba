import { createHash } from "node:crypto";
import { feedInTurns, TurnMeter } from "../../kernel/async/turn-queue.ts";
import { type Form, readMultipart } from "../../kernel/text/multipart.ts";
import { mediaTypeOf } from "./headers.ts";

/**
 * The bytes by which a repeated request is compared: the body, or for a form a hash of its parts, since clients use a
 * new boundary each time.
 */
export async function comparableBody(body: Buffer, contentType: string): Promise<Buffer> {
  if (mediaTypeOf(contentType) !== "multipart/form-data") return body;
  let form: Form;
  try {
    form = await readMultipart(body, contentType);
  } catch {
    return body;
  }
  const hash = createHash("sha256");
  const meter = new TurnMeter();
  for (const { name, filename, contentType: type, bytes } of form.parts) {
    hash.update(`${JSON.stringify([name, filename, type, bytes.length])}\n`);
    await feedInTurns(meter, bytes, (part) => hash.update(part));
  }
  return hash.digest();
}
