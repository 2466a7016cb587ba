import { ByteLru } from "../../kernel/byte-lru.ts";
import { AppError } from "../../kernel/errors.ts";
import { fileFailure } from "../file-failures.ts";
import { SEGMENT_BYTES } from "../merkle/shape.ts";
import type { NodeFile, StorageNode } from "./storage-node.ts";

/** Bytes of a file from `start` up to and without `end`. */
export type ByteRange = { readonly start: number; readonly end: number };

type Dependencies = {
  readonly node: Pick<StorageNode, "read">;
  /** What verified segments may take in memory for whoever asks next, bytes. */
  readonly cacheBytes: number;
};

/** Segments that one stream asks for before they are needed. */
const READ_AHEAD = 4;
/** Segments that all streams together may ask for ahead: 64 MiB. Beyond, each asks for one at a time. */
const MAX_AHEAD = 256;
/** What `read` may be asked for at once, bytes. */
const MAX_READ_BYTES = 64 * 2 ** 20;

/**
 * Reads finalized files as the bytes that were stored: every segment is verified before a byte of it is handed out, and
 * the zeros behind a file's end are cut off. A segment that several ask for is read once.
 */
export class FileReader {
  readonly #node: Pick<StorageNode, "read">;
  readonly #cache: ByteLru<Buffer>;
  /** Larger files would drive out all others on their way through. */
  readonly #maxKeptBytes: number;
  readonly #reading = new Map<string, SharedRead>();

  constructor({ node, cacheBytes }: Dependencies) {
    this.#node = node;
    this.#cache = new ByteLru({ maxBytes: cacheBytes, maxShare: 1 });
    this.#maxKeptBytes = cacheBytes / 4;
  }

  /**
   * The bytes of a file, or a range of them, as they come. Each buffer is one segment's and may be shared: do not write
   * to it. `return()` ends it at once. The iterator fails with `storage_unavailable` when a segment cannot be had.
   * Throws `file_not_finalized`, `file_pruned`, and a `RangeError` for a range beyond the file. Of a file that is not
   * finalized, `present` reads the segments that are here, and the iterator fails with `file_not_finalized` at others.
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

  /** The bytes of a file, or a range of them, at once: at most 64 MiB. Fails like `stream`. */
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
    const kept = this.#cache.get(key);
    if (kept) return { data: Promise.resolve(kept), release() {} };
    const known = this.#reading.get(key);
    if (known) return known.join();
    const read = new SharedRead((signal) => this.#node.read(file, index, signal));
    this.#reading.set(key, read);
    const over = () => {
      if (this.#reading.get(key) === read) this.#reading.delete(key);
    };
    read.data.then((data) => {
      over();
      if (file.sizeBytes <= this.#maxKeptBytes) this.#cache.set(key, data, data.length);
    }, over);
    read.onAbandoned = over;
    return read.join();
  }
}

/** The bytes of a file, segment by segment, a few of them asked for ahead. */
class FileStream implements AsyncIterableIterator<Buffer> {
  readonly #file: NodeFile;
  readonly #range: ByteRange;
  readonly #source: Source;
  readonly #ahead: { readonly index: number; readonly read: HeldRead }[] = [];
  readonly #last: number;
  #next: number;
  #waiting: PromiseWithResolvers<IteratorResult<Buffer>> | undefined;
  #ended = false;

  constructor(file: NodeFile, range: ByteRange, source: Source) {
    this.#file = file;
    this.#range = range;
    this.#source = source;
    this.#next = Math.floor(range.start / SEGMENT_BYTES);
    this.#last = Math.ceil(range.end / SEGMENT_BYTES) - 1;
  }

  next(): Promise<IteratorResult<Buffer>> {
    if (this.#waiting) return Promise.reject(new Error("one part at a time is read of a file"));
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

  return(): Promise<IteratorResult<Buffer>> {
    this.#ended = true;
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting) {
      this.#onReturn();
      waiting.resolve({ done: true, value: undefined });
    }
    for (const { read } of this.#ahead.splice(0)) read.release();
    return Promise.resolve({ done: true, value: undefined });
  }

  throw(reason?: unknown): Promise<IteratorResult<Buffer>> {
    void this.return();
    return Promise.reject(reason);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #onReturn: () => void = () => {};

  #fill(): void {
    while (!this.#ended && this.#next <= this.#last && this.#ahead.length < READ_AHEAD) {
      if (this.#ahead.length > 0 && !this.#source.mayReadAhead()) return;
      const index = this.#next++;
      const read = this.#source.acquire(index);
      // Its failure goes to whoever waits for it; until then it is ignored.
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
/** One reader's part in a read. It is to be released once, whether the data came or not. */
type HeldRead = { readonly data: Promise<Buffer>; readonly release: () => void };

/** A read that several wait for; it is given up when all of them have gone. */
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
      this.#abort.abort(new AppError("unavailable", "Nobody waits for this segment any more."));
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
