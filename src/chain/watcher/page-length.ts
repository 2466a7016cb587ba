/**
 * How many blocks the next page may have. A page takes several calls, and all of them are repeated after one that failed:
 * of a page that takes more calls than its endpoint allows, no attempt would succeed. So after a failure the next page has
 * half as many blocks, and after a success twice as many.
 */
export class PageLength {
  readonly #maxBlocks: number;
  #blocks: number;

  constructor(maxBlocks: number) {
    this.#maxBlocks = maxBlocks;
    this.#blocks = maxBlocks;
  }

  /** Reads a page of at most as many blocks as are left, with `read`. Throws what `read` throws. */
  async read<T>(leftBlocks: number, read: (blocks: number) => Promise<T>): Promise<T> {
    const blocks = Math.min(this.#blocks, leftBlocks);
    try {
      const page = await read(blocks);
      this.#blocks = Math.min(this.#maxBlocks, this.#blocks * 2);
      return page;
    } catch (error) {
      this.#blocks = Math.max(1, Math.floor(blocks / 2));
      throw error;
    }
  }
}
