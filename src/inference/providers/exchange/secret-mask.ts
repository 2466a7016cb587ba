/** A shorter secret is not masked: it may be a common word, such as a placeholder key for a server without keys. */
const MIN_LENGTH = 8;
const STAR = 0x2a;
/** The search looks for this many bytes of the start at once; a shorter start is only possible at the very end. */
const HEAD = 4;

/** The spellings of a secret: as is, and JSON-escaped. Empty if it is not to be masked. */
export function spellingsOf(secret: string): readonly Buffer[] {
  if (secret.length < MIN_LENGTH) return [];
  const json = JSON.stringify(secret).slice(1, -1);
  return [...new Set([secret, json, json.replaceAll("/", "\\/")])].map((text) => Buffer.from(text));
}

/**
 * Masks a secret in a byte stream, also across chunk boundaries: every byte of it becomes a `*`, so that offsets do not
 * change and JSON stays valid. Bytes that may be its start are held back until more arrive.
 */
export class SecretMask {
  readonly #spellings: readonly Buffer[];
  #held: Buffer = Buffer.alloc(0);

  constructor(spellings: readonly Buffer[]) {
    this.#spellings = spellings;
  }

  /** Returns the bytes that may be forwarded now. */
  push(chunk: Buffer): Buffer {
    if (this.#spellings.length === 0) return chunk;
    const bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    const masked = this.#mask(bytes);
    const end = masked.length - this.#heldBack(masked);
    this.#held = masked.subarray(end);
    return masked.subarray(0, end);
  }

  /** The bytes held back after the last chunk. */
  rest(): Buffer {
    return this.#held;
  }

  /** Whether a text contains the secret. */
  isIn(text: string): boolean {
    return this.#spellings.some((spelling) => text.includes(spelling.toString("utf8")));
  }

  #mask(bytes: Buffer): Buffer {
    let masked = bytes;
    for (const spelling of this.#spellings)
      for (let at = masked.indexOf(spelling); at !== -1; at = masked.indexOf(spelling, at + 1)) {
        if (masked === bytes) masked = Buffer.from(bytes);
        masked.fill(STAR, at, at + spelling.length);
      }
    return masked;
  }

  /** Number of trailing bytes that may be the start of the secret. */
  #heldBack(bytes: Buffer): number {
    return this.#spellings.reduce((most, spelling) => Math.max(most, overlap(bytes, spelling)), 0);
  }
}

/** Number of trailing bytes that are a proper prefix of `spelling`. */
function overlap(bytes: Buffer, spelling: Buffer): number {
  const isTail = (at: number) => bytes.compare(spelling, 0, bytes.length - at, at) === 0;
  const from = Math.max(0, bytes.length - spelling.length + 1);
  const head = spelling.subarray(0, HEAD);
  for (let at = bytes.indexOf(head, from); at !== -1; at = bytes.indexOf(head, at + 1))
    if (isTail(at)) return bytes.length - at;
  for (let at = Math.max(from, bytes.length - HEAD + 1); at < bytes.length; at++)
    if (bytes[at] === spelling[0] && isTail(at)) return bytes.length - at;
  return 0;
}
