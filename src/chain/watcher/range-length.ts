const MAX_PROBE_AFTER = 64;

/**
 * How many blocks the next query of logs may have, of those that endpoints refuse beyond some length. A refused length is
 * halved. It is doubled again after some answers at that length: one at first, and twice as many after each time that
 * the doubled length was refused, so that an endpoint with a fixed limit refuses few queries.
 */
export class RangeLength {
  #maxBlocks: bigint | undefined;
  #probeAfter = 1;
  #answers = 0;
  #isProbe = false;

  /** At most as many blocks as are left. */
  of(leftBlocks: bigint): bigint {
    return this.#maxBlocks !== undefined && this.#maxBlocks < leftBlocks ? this.#maxBlocks : leftBlocks;
  }

  /** An endpoint refused a query of so many blocks. */
  refused(blocks: bigint): void {
    if (this.#isProbe) this.#probeAfter = Math.min(this.#probeAfter * 2, MAX_PROBE_AFTER);
    this.#maxBlocks = blocks > 1n ? blocks / 2n : 1n;
    this.#answers = 0;
    this.#isProbe = false;
  }

  /** An endpoint answered a query of so many blocks. A shorter one than allowed says nothing about longer ones. */
  answered(blocks: bigint): void {
    if (this.#maxBlocks === undefined || blocks < this.#maxBlocks) return;
    if (this.#isProbe) this.#probeAfter = 1;
    this.#isProbe = ++this.#answers >= this.#probeAfter;
    if (!this.#isProbe) return;
    this.#maxBlocks *= 2n;
    this.#answers = 0;
  }
}
