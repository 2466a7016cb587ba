/** The first block, too small to be reserved. */
const FIRST_BLOCK_BYTES = 16_384;
const BLOCK_BYTES = 65_536;
/** Collected bytes are held in blocks, then as one buffer, then as text or values. */
const FACTOR = 3;

/** Collects copies of short pieces, at most `maxBytes`, in blocks; each block is reserved before it is allocated. */
export class PieceBuffer {
  readonly #maxBytes: number;
  readonly #reserve: (bytes: number) => void;
  #full: Buffer[] = [];
  #block = Buffer.alloc(0);
  #used = 0;
  #fullBytes = 0;

  constructor(maxBytes: number, reserve: (bytes: number) => void) {
    this.#maxBytes = maxBytes;
    this.#reserve = reserve;
  }

  /** Returns false if the piece does not fit; then none of it was added. */
  add(piece: Buffer): boolean {
    if (this.#fullBytes + this.#used + piece.length > this.#maxBytes) return false;
    for (let at = 0; at < piece.length; ) {
      if (this.#used === this.#block.length) this.#nextBlock();
      const copied = piece.copy(this.#block, this.#used, at);
      this.#used += copied;
      at += copied;
    }
    return true;
  }

  /** All pieces as one buffer. */
  whole(): Buffer {
    return Buffer.concat([...this.#full, this.#block.subarray(0, this.#used)]);
  }

  /** Drops the collected pieces. */
  clear(): void {
    this.#full = [];
    this.#block = Buffer.alloc(0);
    this.#used = 0;
    this.#fullBytes = 0;
  }

  #nextBlock(): void {
    const isFirst = this.#block.length === 0;
    if (!isFirst) {
      this.#reserve(BLOCK_BYTES * FACTOR);
      this.#full.push(this.#block);
      this.#fullBytes += this.#used;
    }
    this.#block = Buffer.allocUnsafe(isFirst ? FIRST_BLOCK_BYTES : BLOCK_BYTES);
    this.#used = 0;
  }
}
