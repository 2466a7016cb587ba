import { createReadStream, createWriteStream } from "node:fs";
import { type FileHandle, open, rm } from "node:fs/promises";
import { pipeline } from "node:stream/promises";

/** The result of a trim. */
export type Trimmed = {
  /** The first block of the export, and the first block of the trimmed file. */
  readonly first: bigint;
  readonly from: bigint;
  readonly skippedBlocks: number;
  readonly bytes: number;
};

/** Why an export cannot be trimmed, in a sentence for the operator. */
export class BadExport extends Error {
  override readonly name = "BadExport";
}

const GZIP = 0x1f8b;
/** A header is about 600 bytes, most of it the bloom filter; the block number is its ninth field. */
const HEADER_BYTES = 4_096;
const NUMBER_FIELD = 8;
const MAX_BLOCK_BYTES = 256 * 1_048_576;

/**
 * Copies a chain export (consecutive RLP blocks, as `geth export` writes them) without the blocks below `from`: block
 * 0 before an import, or the blocks that an interrupted import already has (SPEC 4.5). Of the skipped blocks only the
 * headers are read, and they must be consecutive; the rest is copied unchanged. Writes `to`, which must not exist.
 *
 * Throws `BadExport` for a file that is not such an export or ends below `from`, and what the file system throws.
 */
export async function trimExport(path: string, from: bigint, to: string): Promise<Trimmed> {
  const file = await open(path, "r");
  try {
    const { size } = await file.stat();
    const start = await findBlock(file, size, from);
    await copy(path, start.offset, to);
    return { first: start.first, from, skippedBlocks: start.skipped, bytes: size - start.offset };
  } finally {
    await file.close();
  }
}

async function findBlock(
  file: FileHandle,
  size: number,
  from: bigint,
): Promise<{ readonly offset: number; readonly first: bigint; readonly skipped: number }> {
  let first: bigint | undefined;
  let before: bigint | undefined;
  let skipped = 0;
  for (let offset = 0; offset < size; skipped++) {
    const { number, bytes } = await readBlock(file, offset, size);
    first ??= number;
    if (before !== undefined && number !== before + 1n)
      throw new BadExport(`Block ${number} follows block ${before} in the export: blocks are missing.`);
    if (number === from) return { offset, first, skipped };
    if (number > from) throw new BadExport(`The export starts with block ${number}, above ${from}.`);
    before = number;
    offset += bytes;
  }
  throw new BadExport(
    before === undefined ? "The export is empty." : `The export ends with block ${before}, below ${from}.`,
  );
}

/** A block is a list whose first item is its header, a list whose ninth item is its number. */
async function readBlock(
  file: FileHandle,
  offset: number,
  size: number,
): Promise<{ readonly number: bigint; readonly bytes: number }> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(HEADER_BYTES), 0, HEADER_BYTES, offset);
  const head = buffer.subarray(0, bytesRead);
  if (offset === 0 && bytesRead >= 2 && head.readUInt16BE(0) === GZIP)
    throw new BadExport("The export is compressed: unpack it with gunzip first.");
  const block = readItem(head, 0, offset);
  if (!block.isList || block.bytes > MAX_BLOCK_BYTES) throw invalidBlock(offset);
  if (offset + block.bytes > size)
    throw new BadExport(`The export is truncated in the block at byte ${offset}.`);
  const header = readItem(head, block.start, offset);
  if (!header.isList) throw invalidBlock(offset);
  let at = header.start;
  for (let field = 0; field < NUMBER_FIELD; field++) at += readItem(head, at, offset).bytes;
  const number = readItem(head, at, offset);
  const digits = head.subarray(number.start, at + number.bytes);
  if (number.isList || digits.length > 8 || at + number.bytes > head.length) throw invalidBlock(offset);
  return { number: digits.length === 0 ? 0n : BigInt(`0x${digits.toString("hex")}`), bytes: block.bytes };
}

/** An RLP item: the start of its content, and its total length. */
function readItem(
  bytes: Buffer,
  at: number,
  offset: number,
): { readonly isList: boolean; readonly start: number; readonly bytes: number } {
  const first = bytes[at];
  if (first === undefined) throw invalidBlock(offset);
  if (first < 0x80) return { isList: false, start: at, bytes: 1 };
  const isList = first >= 0xc0;
  const base = isList ? 0xc0 : 0x80;
  const short = first - base;
  if (short <= 55) return { isList, start: at + 1, bytes: 1 + short };
  const lengthBytes = short - 55;
  if (lengthBytes > 6 || at + 1 + lengthBytes > bytes.length) throw invalidBlock(offset);
  return {
    isList,
    start: at + 1 + lengthBytes,
    bytes: 1 + lengthBytes + bytes.readUIntBE(at + 1, lengthBytes),
  };
}

async function copy(path: string, start: number, to: string): Promise<void> {
  const target = createWriteStream(to, { flags: "wx" });
  let isCreatedHere = false;
  target.once("open", () => {
    isCreatedHere = true;
  });
  try {
    await pipeline(createReadStream(path, { start }), target);
  } catch (error) {
    // A partial export would look like a complete one.
    if (isCreatedHere) await rm(to, { force: true });
    throw error;
  }
}

function invalidBlock(offset: number): BadExport {
  return new BadExport(`There is no RLP block at byte ${offset} of the export.`);
}
