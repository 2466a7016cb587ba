/** A shorter one is not struck out: it may be a word, such as what servers without keys are given for one. */
const SHORTEST = 8;
const STAR = 0x2a;
/** So many bytes of a beginning are looked for at once; fewer are only at the very end. */
const HEAD = 4;

/** A secret as it may be written: as it is, and as JSON spells it. None where it is not to be struck out. */
export function spellingsOf(secret: string): readonly Buffer[] {
  if (secret.length < SHORTEST) return [];
  const json = JSON.stringify(secret).slice(1, -1);
  return [...new Set([secret, json, json.replaceAll("/", "\\/")])].map((text) => Buffer.from(text));
}

/**
 * Strikes a secret out of bytes as they pass, also where the network cut it in two: every byte of it becomes a `*`, so
 * that nothing else moves and JSON stays JSON. What may be its beginning is held back until more is there.
 */
export class SecretMask {
  readonly #spellings: readonly Buffer[];
  #held: Buffer = Buffer.alloc(0);

  constructor(spellings: readonly Buffer[]) {
    this.#spellings = spellings;
  }

  /** What may be passed on now. */
  push(chunk: Buffer): Buffer {
    if (this.#spellings.length === 0) return chunk;
    const bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    const masked = this.#mask(bytes);
    const end = masked.length - this.#heldBack(masked);
    this.#held = masked.subarray(end);
    return masked.subarray(0, end);
  }

  /** What was held back, behind the last chunk. */
  rest(): Buffer {
    return this.#held;
  }

  /** Whether a text has the secret in it. */
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

  /** How many of the last bytes may be the beginning of the secret. */
  #heldBack(bytes: Buffer): number {
    return this.#spellings.reduce((most, spelling) => Math.max(most, overlap(bytes, spelling)), 0);
  }
}

/** How many of the last bytes are the first ones of `spelling`, the whole of it not counted. */
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
