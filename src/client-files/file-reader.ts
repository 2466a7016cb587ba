import type { Queries } from "../db/database.ts";
import { DONE, ReleasingIterator } from "../kernel/async/releasing-iterator.ts";
import { readParts, type SealedPart } from "./client-file.store.ts";
import type { FileKey } from "./file-cipher.ts";
import { PART_BYTES } from "./file-shape.ts";

type Source = { readonly queries: Queries; readonly id: string; readonly key: FileKey };

/** Reads a file: all of it, or ranges of an uploaded one. */
export class FileReader {
  readonly #source: Source;
  #page: readonly SealedPart[] = [];
  #opened: { readonly n: number; readonly bytes: Buffer } | undefined;

  constructor(source: Source) {
    this.#source = source;
  }

  /** The content from its beginning, in parts of at most 1 MiB. End the iterator to stop reading. */
  parts(): AsyncIterableIterator<Buffer> {
    return new PartIterator(this.#source);
  }

  /** A range of an uploaded file. Ranges are read fast in the order of the file. Throws if it is not in the file. */
  async range(start: number, length: number): Promise<Buffer> {
    const bytes: Buffer[] = [];
    for (let at = start; at < start + length; ) {
      const n = Math.floor(at / PART_BYTES);
      const part = await this.#part(n);
      const from = at - n * PART_BYTES;
      const piece = part.subarray(from, from + start + length - at);
      if (piece.length === 0) throw new RangeError("the range is not in the file");
      bytes.push(piece);
      at += piece.length;
    }
    return bytes.length === 1 ? (bytes[0] as Buffer) : Buffer.concat(bytes);
  }

  async #part(n: number): Promise<Buffer> {
    if (this.#opened?.n === n) return this.#opened.bytes;
    const { queries, id, key } = this.#source;
    let sealed = this.#page.find((part) => part.n === n);
    if (!sealed) {
      this.#page = await readParts(queries, id, n - 1);
      sealed = this.#page[0]?.n === n ? this.#page[0] : undefined;
    }
    if (!sealed) throw new RangeError("the range is not in the file");
    this.#opened = { n, bytes: key.open(sealed.bytes, n) };
    return this.#opened.bytes;
  }
}

class PartIterator extends ReleasingIterator<Buffer> {
  readonly #source: Source;
  #page: SealedPart[] = [];
  #after = -1;

  constructor(source: Source) {
    super();
    this.#source = source;
  }

  async next(): Promise<IteratorResult<Buffer>> {
    const { queries, id, key } = this.#source;
    if (this.isEnded) return DONE;
    if (this.#page.length === 0) this.#page = [...(await readParts(queries, id, this.#after))];
    const part = this.isEnded ? undefined : this.#page.shift();
    if (!part) {
      this.finish();
      return DONE;
    }
    this.#after = part.n;
    return { done: false, value: key.open(part.bytes, part.n) };
  }

  protected release(): void {
    this.#page = [];
  }
}
