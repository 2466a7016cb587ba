import { createCipheriv } from "node:crypto";

/**
 * Bytes without a pattern, the same in every run. Repeated bytes do not test code that caches what it has
 * seen, as tokenizers do: one took 13 s for 1.8 MB of base64 of these, and 1 s for repeated bytes.
 */
export function scatteredBytes(length: number): Buffer {
  return createCipheriv("aes-128-ctr", Buffer.alloc(16), Buffer.alloc(16)).update(Buffer.alloc(length));
}

/** Chinese letters without a pattern, of which no tokenizer makes words. */
export function scatteredHan(length: number): string {
  const bytes = scatteredBytes(length * 2);
  return Array.from({ length }, (_, at) =>
    String.fromCharCode(0x4e00 + (bytes.readUInt16LE(at * 2) % 20_000)),
  ).join("");
}
