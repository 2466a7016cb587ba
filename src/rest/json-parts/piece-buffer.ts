/** The first block, which is not worth counting. */
const FIRST_BLOCK_BYTES = 16_384;
const BLOCK_BYTES = 65_536;
/** What is collected is held as it came, then as one piece, then as text or values. */
const FACTOR = 3;

/** Collects copies of short pieces, at most `maxBytes`, in blocks of which each is reserved before it is allocated. */
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

  /** False when there is no room for it: then nothing of it was added. */
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

  /** All pieces as one. */
  whole(): Buffer {
    return Buffer.concat([...this.#full, this.#block.subarray(0, this.#used)]);
  }

  /** Drops what was collected. */
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
