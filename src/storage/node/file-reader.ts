import { DONE, ReleasingIterator } from "../../kernel/async/releasing-iterator.ts";
import { ByteLru } from "../../kernel/byte-lru.ts";
import { AppError } from "../../kernel/errors.ts";
import { TransientMap } from "../../kernel/transient-map.ts";
import { fileFailure } from "../file-failures.ts";
import { SEGMENT_BYTES } from "../merkle/shape.ts";
import type { NodeFile, StorageNode } from "./storage-node.ts";

/** The bytes of a file from `start` to `end`, exclusive. */
export type ByteRange = { readonly start: number; readonly end: number };

type Dependencies = {
  readonly node: Pick<StorageNode, "read">;
  /** Size of the cache of verified segments, bytes. */
  readonly cacheBytes: number;
};

/** Segments that one stream reads ahead. */
const READ_AHEAD = 4;
/** Concurrent reads up to which streams may read ahead: 64 MiB. Beyond, each stream reads one segment at a time. */
const MAX_AHEAD = 256;
/** The limit of one `read` call, bytes. */
const MAX_READ_BYTES = 64 * 2 ** 20;

/**
 * Reads finalized files as the bytes that were stored: every segment is verified before any of its bytes is returned,
 * and the padding after a file's end is cut off. Concurrent readers of a segment share one read.
 */
export class FileReader {
  readonly #node: Pick<StorageNode, "read">;
  readonly #cache: ByteLru<Buffer>;
  /** Larger files are not cached, because they would evict all others. */
  readonly #maxCachedBytes: number;
  readonly #reading = new TransientMap<string, SharedRead>();

  constructor({ node, cacheBytes }: Dependencies) {
    this.#node = node;
    this.#cache = new ByteLru({ maxBytes: cacheBytes, maxShare: 1 });
    this.#maxCachedBytes = cacheBytes / 4;
  }

  /**
   * The bytes of a file, or a range of them, as they arrive. Each buffer belongs to one segment and may be shared: do
   * not write to it. `return()` ends it at once. The iterator fails with `storage_unavailable` when a segment cannot be
   * read. Throws `file_not_finalized`, `file_pruned`, and a `RangeError` for a range beyond the file. With `present`,
   * the file need not be finalized; the iterator fails with `file_not_finalized` at a missing segment.
   */
  stream(
    file: NodeFile,
    range: ByteRange = { start: 0, end: file.sizeBytes },
    segments: "all" | "present" = "all",
  ): FileStream {
    requireReadable(segments === "all" ? file : { ...file, finalized: true }, range);
    return new FileStream(file, range, {
      acquire: (index) => this.#acquire(file, index),
      mayReadAhead: () => this.#reading.size < MAX_AHEAD,
    });
  }

  /** The bytes of a file, or a range of them, in one buffer of at most 64 MiB. Fails like `stream`. */
  async read(file: NodeFile, range: ByteRange = { start: 0, end: file.sizeBytes }): Promise<Buffer> {
    requireReadable(file, range);
    if (range.end - range.start > MAX_READ_BYTES)
      throw new RangeError(`at most ${MAX_READ_BYTES} bytes are read at once`);
    const parts: Buffer[] = [];
    for await (const part of this.stream(file, range)) parts.push(part);
    const [first = Buffer.alloc(0), ...rest] = parts;
    return rest.length > 0 ? Buffer.concat(parts) : first;
  }

  #acquire(file: NodeFile, index: number): HeldRead {
    const key = `${file.root}:${file.sizeBytes}:${index}`;
    const cached = this.#cache.get(key);
    if (cached) return { data: Promise.resolve(cached), release() {} };
    const known = this.#reading.get(key);
    if (known) return known.join();
    const read = new SharedRead((signal) => this.#node.read(file, index, signal));
    this.#reading.set(key, read);
    const over = () => {
      if (this.#reading.get(key) === read) this.#reading.delete(key);
    };
    read.data.then((data) => {
      over();
      if (file.sizeBytes <= this.#maxCachedBytes) this.#cache.set(key, data, data.length);
    }, over);
    read.onAbandoned = over;
    return read.join();
  }
}

/** The bytes of a file, segment by segment, with a few segments read ahead. */
class FileStream extends ReleasingIterator<Buffer> {
  readonly #file: NodeFile;
  readonly #range: ByteRange;
  readonly #source: Source;
  readonly #ahead: { readonly index: number; readonly read: HeldRead }[] = [];
  readonly #last: number;
  #next: number;
  #waiting: PromiseWithResolvers<IteratorResult<Buffer>> | undefined;
  /** Gives up the read that `#waiting` waits for. */
  #onReturn: () => void = () => {};

  constructor(file: NodeFile, range: ByteRange, source: Source) {
    super();
    this.#file = file;
    this.#range = range;
    this.#source = source;
    this.#next = Math.floor(range.start / SEGMENT_BYTES);
    this.#last = Math.ceil(range.end / SEGMENT_BYTES) - 1;
  }

  next(): Promise<IteratorResult<Buffer>> {
    if (this.#waiting)
      return Promise.reject(new Error("call next() only after the previous call has resolved"));
    this.#fill();
    const head = this.#ahead.shift();
    if (!head) return this.return();
    const waiting = Promise.withResolvers<IteratorResult<Buffer>>();
    this.#waiting = waiting;
    head.read.data.then(
      (data) => {
        head.read.release();
        if (this.#waiting !== waiting) return;
        this.#waiting = undefined;
        this.#fill();
        waiting.resolve({ done: false, value: this.#cut(head.index, data) });
      },
      (error: unknown) => {
        head.read.release();
        if (this.#waiting !== waiting) return;
        this.#waiting = undefined;
        void this.return();
        waiting.reject(error);
      },
    );
    this.#onReturn = head.read.release;
    return waiting.promise;
  }

  protected release(): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting) {
      this.#onReturn();
      waiting.resolve(DONE);
    }
    for (const { read } of this.#ahead.splice(0)) read.release();
  }

  #fill(): void {
    while (!this.isEnded && this.#next <= this.#last && this.#ahead.length < READ_AHEAD) {
      if (this.#ahead.length > 0 && !this.#source.mayReadAhead()) return;
      const index = this.#next++;
      const read = this.#source.acquire(index);
      // A failure is reported by the `next()` that needs this segment; until then it is ignored.
      read.data.catch(() => {});
      this.#ahead.push({ index, read });
    }
  }

  #cut(index: number, data: Buffer): Buffer {
    const first = index * SEGMENT_BYTES;
    return data.subarray(
      Math.max(this.#range.start - first, 0),
      Math.min(this.#range.end, this.#file.sizeBytes) - first,
    );
  }
}

type Source = { acquire(index: number): HeldRead; mayReadAhead(): boolean };
/** One reader's share of a read. Release it once, whether or not the data arrived. */
type HeldRead = { readonly data: Promise<Buffer>; readonly release: () => void };

/** A read shared by several readers; it is aborted when all of them have released it. */
class SharedRead {
  readonly data: Promise<Buffer>;
  onAbandoned: () => void = () => {};
  readonly #abort = new AbortController();
  #readers = 0;
  #isOver = false;

  constructor(read: (signal: AbortSignal) => Promise<Buffer>) {
    this.data = read(this.#abort.signal);
    const over = () => {
      this.#isOver = true;
    };
    this.data.then(over, over);
  }

  join(): HeldRead {
    this.#readers++;
    let isHeld = true;
    const release = () => {
      if (!isHeld) return;
      isHeld = false;
      if (--this.#readers > 0 || this.#isOver) return;
      this.onAbandoned();
      this.#abort.abort(new AppError("unavailable", "No reader waits for this segment any more."));
    };
    return { data: this.data, release };
  }
}

function requireReadable({ finalized, pruned, sizeBytes }: NodeFile, { start, end }: ByteRange): void {
  if (pruned) throw fileFailure("file_pruned");
  if (!finalized) throw fileFailure("file_not_finalized");
  if (!(start >= 0 && start <= end && end <= sizeBytes))
    throw new RangeError(`bytes ${start} to ${end} of ${sizeBytes}`);
}
