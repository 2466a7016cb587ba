import { createCipheriv } from "node:crypto";

const BLOCK_BYTES = 16;
const COUNTER_MODULUS = 1n << 128n;

/**
 * Applies the key stream of AES-256-CTR to `bytes`, which begin at `offset` of the plaintext: the same call encrypts
 * and decrypts. The nonce is the first counter block, a 128-bit big-endian number that grows by one every 16 bytes and
 * wraps at its end (facts: storage section 6). Any part of a file can thus be read without the parts before it.
 */
export function applyKeyStream(key: Uint8Array, nonce: Uint8Array, bytes: Uint8Array, offset = 0n): Buffer {
  const skipped = Number(offset % BigInt(BLOCK_BYTES));
  const cipher = createCipheriv("aes-256-ctr", key, counterAt(nonce, offset / BigInt(BLOCK_BYTES)));
  if (skipped > 0) cipher.update(Buffer.alloc(skipped));
  return Buffer.concat([cipher.update(bytes), cipher.final()]);
}

function counterAt(nonce: Uint8Array, block: bigint): Buffer {
  const start = BigInt(`0x${Buffer.from(nonce).toString("hex")}`);
  const counter = (start + block) % COUNTER_MODULUS;
  return Buffer.from(counter.toString(16).padStart(2 * BLOCK_BYTES, "0"), "hex");
}
