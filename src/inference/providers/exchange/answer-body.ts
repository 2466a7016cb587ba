/** A longer body is read by threads, which then share its memory. */
const MAX_CHUNKED_BYTES = 262_144;
/** The step by which shared memory grows. */
const STEP_BYTES = 1_048_576;
const NOTHING = Buffer.alloc(0);

/**
 * The body of an answer while it arrives, at most `maxBytes` long. The chunks of a long one are copied as they arrive,
 * into memory that grows in place and can be passed to a thread without a copy: joining 56 MB at its end would block
 * the event loop for 100 ms and more, as each copy does.
 */
export class AnswerBody {
  readonly #maxBytes: number;
  #chunks: Buffer[] = [];
  #memory: SharedArrayBuffer | undefined;
  #sizeBytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  /** Adds a chunk. False, without adding it, if the body would be too long. */
  add(chunk: Buffer): boolean {
    const start = this.#sizeBytes;
    if (start + chunk.length > this.#maxBytes) return false;
    this.#sizeBytes += chunk.length;
    if (this.#sizeBytes <= MAX_CHUNKED_BYTES) this.#chunks.push(chunk);
    else this.#copy(chunk, start);
    return true;
  }

  /** The whole body. */
  toBuffer(): Buffer {
    if (this.#memory) return Buffer.from(this.#memory, 0, this.#sizeBytes);
    const [first = NOTHING] = this.#chunks;
    return this.#chunks.length > 1 ? Buffer.concat(this.#chunks) : first;
  }

  #copy(chunk: Buffer, start: number): void {
    this.#memory ??= this.#begin();
    const memory = this.#memory;
    const steps = Math.ceil(this.#sizeBytes / STEP_BYTES);
    if (memory.byteLength < this.#sizeBytes) memory.grow(Math.min(steps * STEP_BYTES, this.#maxBytes));
    new Uint8Array(memory, start, chunk.length).set(chunk);
  }

  #begin(): SharedArrayBuffer {
    const early = Buffer.concat(this.#chunks);
    this.#chunks = [];
    // The maximum reserves addresses, not memory.
    const memory = new SharedArrayBuffer(Math.min(STEP_BYTES, this.#maxBytes), {
      maxByteLength: this.#maxBytes,
    });
    new Uint8Array(memory).set(early);
    return memory;
  }
}
