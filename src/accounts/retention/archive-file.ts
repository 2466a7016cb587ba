import { createHash, randomUUID } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, open, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGunzip, createGzip } from "node:zlib";
import { type CsvRecord, csvLine, readCsv } from "./csv.ts";
import type { ClosingKind, Month } from "./months.ts";

/** An archive on the disk: its name in the folder, and what it has. */
export type ArchiveFile = {
  readonly name: string;
  readonly rows: number;
  readonly sizeBytes: number;
  /** SHA-256 of the uncompressed content, in hexadecimal. */
  readonly contentHash: string;
};

const TEXT_BYTES = 65_536;

/**
 * Writes the archive of a month and flushes it to the disk. Its name contains a part of its hash, so that a process
 * that was overtaken by another never replaces the other's file.
 */
export async function writeArchive(
  folder: string,
  { kind, month }: { readonly kind: ClosingKind; readonly month: Month },
  header: readonly string[],
  records: AsyncIterable<readonly CsvRecord[]>,
): Promise<ArchiveFile> {
  await mkdir(folder, { recursive: true });
  const draft = join(folder, `${kind}-${month}-${randomUUID()}.draft`);
  const hash = createHash("sha256");
  let rows = 0;
  async function* lines() {
    for await (const text of textOf(header, records)) {
      rows += text.rows;
      hash.update(text.lines);
      yield text.lines;
    }
  }
  try {
    await pipeline(lines, createGzip(), createWriteStream(draft, { flags: "wx", flush: true }));
    const contentHash = hash.digest("hex");
    const name = `${kind}-${month}-${contentHash.slice(0, 12)}.csv.gz`;
    await rename(draft, join(folder, name));
    await flushFolder(folder);
    return { name, rows, contentHash, sizeBytes: (await stat(join(folder, name))).size };
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

async function* textOf(header: readonly string[], records: AsyncIterable<readonly CsvRecord[]>) {
  yield { lines: csvLine(header), rows: 0 };
  for await (const batch of records)
    if (batch.length > 0) yield { lines: batch.map(csvLine).join(""), rows: batch.length };
}

/** Without it, the name of a file that is on the disk may be lost. */
async function flushFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Called with the records of an archive after its header, in order, by column. Returning a promise delays the rest. */
export type RecordReader = (record: Readonly<Record<string, string | null>>) => unknown;

/**
 * Reads an archive to its end. Returns its rows and the SHA-256 of its content. Throws if it is damaged, and when `signal`
 * aborts: reading a large one takes longer than a process may take to stop.
 */
export async function readArchive(
  folder: string,
  name: string,
  reader: RecordReader,
  signal?: AbortSignal,
): Promise<Pick<ArchiveFile, "rows" | "contentHash">> {
  const hash = createHash("sha256");
  const source = createReadStream(join(folder, name));
  const content = source.pipe(createGunzip({ chunkSize: TEXT_BYTES }));
  source.on("error", (error) => content.destroy(error));
  async function* hashed(): AsyncGenerator<string> {
    for await (const text of content.setEncoding("utf8")) {
      hash.update(text);
      yield text;
    }
  }
  let header: CsvRecord | undefined;
  let rows = 0;
  try {
    for await (const record of readCsv(hashed())) {
      signal?.throwIfAborted();
      if (!header) {
        header = record;
        continue;
      }
      rows++;
      const pending = reader(
        Object.fromEntries(header.map((column, n) => [column ?? "", record[n] ?? null])),
      );
      if (pending instanceof Promise) await pending;
    }
  } finally {
    source.destroy();
    content.destroy();
  }
  return { rows, contentHash: hash.digest("hex") };
}
