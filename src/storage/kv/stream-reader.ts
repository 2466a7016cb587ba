import { setImmediate } from "node:timers/promises";
import type { Hex } from "../../kernel/text/hex.ts";
import {
  CONTROL_OPS,
  CONTROL_SHAPES,
  type ControlOp,
  MAX_LIST,
  type StreamControl,
  type StreamKey,
} from "./stream-data.ts";

/** Reads `length` bytes starting at `offset`; fewer only at the end of the source. */
export type ByteSource = {
  readonly sizeBytes: number;
  read(offset: number, length: number): Promise<Buffer>;
};

/** A write with the place of its value in the file instead of the value itself. */
export type PlacedWrite = StreamKey & { readonly offset: number; readonly sizeBytes: number };

/** A decoded transaction, without its values, which may be of any size. */
export type StreamHead = {
  readonly version: bigint;
  readonly reads: readonly StreamKey[];
  readonly writes: readonly PlacedWrite[];
  readonly controls: readonly StreamControl[];
};

/** The bytes are not a valid transaction on streams. The message is part of the transaction's result. */
export class StreamDataError extends Error {
  override readonly name = "StreamDataError";
}

const SECTOR_BYTES = 256;
const PAUSE_EVERY = 256;
const WINDOW_BYTES = 262_144;
/** Limits the keys, lists and controls of a transaction in memory: 65,536 keys of 80 bytes, or a few long ones. */
const MAX_HEAD_BYTES = 8 * 1_048_576;

const OPS_BY_CODE = new Map<number, ControlOp>(
  (Object.entries(CONTROL_OPS) as [ControlOp, number][]).map(([op, code]) => [code, op]),
);

/**
 * Decodes a transaction on streams (facts: storage section 5.2) from a file that is read in parts. Trailing bytes are
 * ignored and zeros are read beyond the end up to a whole sector of 256 bytes, as the network's own nodes do. Throws a
 * `StreamDataError` for invalid bytes, and what the source throws.
 */
export async function readStreamData(source: ByteSource): Promise<StreamHead> {
  const from = new Cursor(source);
  const version = BigInt(`0x${(await from.take(8)).toString("hex")}`);
  const reads = await list(from, () => streamKey(from));
  const placed = await list(from, async () => ({
    ...(await streamKey(from)),
    sizeBytes: await from.unsigned(8),
  }));
  const writes = placed.map(({ streamId, key, sizeBytes }) => ({
    ...{ streamId, key, sizeBytes },
    offset: from.skip(sizeBytes),
  }));
  const controls = await list(from, () => control(from));
  return { version, reads, writes, controls };
}

/** Buffers a source in windows of 256 KiB, for callers that read small parts in sequence. */
export function windowed(source: ByteSource): ByteSource {
  let start = 0;
  let window: Buffer = Buffer.alloc(0);
  return {
    sizeBytes: source.sizeBytes,
    async read(offset, length) {
      const end = Math.min(offset + length, source.sizeBytes);
      if (end <= offset) return Buffer.alloc(0);
      if (end - offset > WINDOW_BYTES) return source.read(offset, end - offset);
      if (offset < start || end > start + window.length) {
        window = await source.read(offset, Math.min(WINDOW_BYTES, source.sizeBytes - offset));
        start = offset;
      }
      return window.subarray(offset - start, end - start);
    },
  };
}

async function list<T>(from: Cursor, entry: () => Promise<T>): Promise<readonly T[]> {
  const length = await from.unsigned(4);
  if (length > MAX_LIST) throw new StreamDataError("list is too long");
  const entries: T[] = [];
  for (let at = 0; at < length; at++) {
    entries.push(await entry());
    // Entries already in memory are read without a pause, so a long list would block the event loop.
    if (at % PAUSE_EVERY === PAUSE_EVERY - 1) await setImmediate();
  }
  return entries;
}

async function streamKey(from: Cursor): Promise<StreamKey> {
  return { streamId: await from.hex(32), key: await keyOf(from) };
}

async function keyOf(from: Cursor): Promise<Buffer> {
  const length = await from.unsigned(3);
  if (length === 0) throw invalid();
  return from.take(length);
}

async function control(from: Cursor): Promise<StreamControl> {
  const op = OPS_BY_CODE.get(await from.unsigned(1));
  if (!op) throw invalid();
  const shape = CONTROL_SHAPES[op];
  const streamId = await from.hex(32);
  return {
    op,
    streamId,
    ...(shape.key && { key: await keyOf(from) }),
    ...(shape.account && { account: await from.hex(20) }),
  };
}

/** Reads a source sequentially. */
class Cursor {
  readonly #source: ByteSource;
  readonly #end: number;
  #position = 0;
  #taken = 0;

  constructor(source: ByteSource) {
    this.#source = windowed(source);
    this.#end = Math.ceil(source.sizeBytes / SECTOR_BYTES) * SECTOR_BYTES;
  }

  /** The next `length` bytes; zeros beyond the end of the file. */
  async take(length: number): Promise<Buffer> {
    this.#taken += length;
    if (this.#taken > MAX_HEAD_BYTES) throw new StreamDataError("keys and lists take more than 8 MiB");
    const start = this.skip(length);
    const bytes = await this.#source.read(start, length);
    return bytes.length === length ? bytes : Buffer.concat([bytes, Buffer.alloc(length - bytes.length)]);
  }

  async hex(length: number): Promise<Hex> {
    return `0x${(await this.take(length)).toString("hex")}`;
  }

  /** A number of up to 8 bytes. Numbers above the safe integers are invalid: no file is that long. */
  async unsigned(length: number): Promise<number> {
    const value = Number(`0x${(await this.take(length)).toString("hex")}`);
    if (!Number.isSafeInteger(value)) throw invalid();
    return value;
  }

  /** Skips `length` bytes without reading them, and returns their offset. */
  skip(length: number): number {
    const start = this.#position;
    if (length > this.#end - start) throw invalid();
    this.#position += length;
    return start;
  }
}

function invalid(): StreamDataError {
  return new StreamDataError("invalid data");
}
