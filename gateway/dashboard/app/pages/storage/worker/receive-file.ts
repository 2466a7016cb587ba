import { decodeFolder, FOLDER_LIMITS, findEntry } from "../../../../../../src/storage/folders/folder.ts";
import { Keccak } from "../../../../../../src/storage/keccak/keccak.ts";
import { FileCheck } from "../../../../../../src/storage/merkle/file-check.ts";
import { SEGMENT_BYTES } from "../../../../../../src/storage/merkle/shape.ts";
import { again } from "./again.ts";
import type { FileReport, Receipt, StoredFile } from "./messages.ts";
import { Progress } from "./progress.ts";
import { fetchProven } from "./proven-segment.ts";
import { SegmentRefused } from "./segment-failure.ts";

/** Segments that are fetched at once, and so at most in memory before they are written. */
const AHEAD = 4;

const keccak = new Keccak();

/** A segment of one of the files. */
type Place = { readonly part: Part; readonly index: number; readonly at: number };
type Part = { readonly file: StoredFile; readonly check: FileCheck };

/**
 * Receives files by segments, in order. Each segment is verified with its proof before it is handed to `write`, and the
 * roots are rebuilt from the segments at the end. Throws `SegmentRefused` for the first one that does not verify.
 */
async function receive(
  files: readonly StoredFile[],
  progress: Progress | undefined,
  write: (data: Uint8Array<ArrayBuffer>) => void | Promise<void>,
): Promise<void> {
  const parts = files.map((file): Part => ({ file, check: new FileCheck(keccak, file) }));
  const places = parts.flatMap((part) =>
    Array.from({ length: part.check.shape.segments }, (_, index) => ({ part, index })),
  );
  const coming: Promise<Uint8Array<ArrayBuffer>>[] = [];
  let next = 0;
  for (let at = 0; at < places.length; at++) {
    for (; next < Math.min(places.length, at + AHEAD); next++) {
      const loading = load({ ...(places[next] as Omit<Place, "at">), at: next }, progress);
      // It is awaited in its turn; an earlier one may fail before.
      loading.catch(() => {});
      coming.push(loading);
    }
    await write((await coming.shift()) as Uint8Array<ArrayBuffer>);
  }
  for (const { file, check } of parts)
    if (check.rebuiltRoot() !== file.root.toLowerCase())
      throw new Error("The root that was rebuilt from the segments is another one. Nothing was saved.");
}

async function load(
  { part: { file, check }, index, at }: Place,
  progress: Progress | undefined,
): Promise<Uint8Array<ArrayBuffer>> {
  progress?.set(at, "busy");
  try {
    const [start, length] = [index * SEGMENT_BYTES, check.lengthOf(index)];
    const { data, proof } = await again(
      () => fetchProven({ root: file.root, index, start, length }),
      () => progress?.set(at, "again"),
    );
    const fault = check.faultOf(index, data, proof);
    if (fault)
      throw new SegmentRefused(
        index,
        `Segment ${index} was refused: its bytes do not prove its place (${fault}).`,
      );
    progress?.set(at, "done");
    return data;
  } catch (error) {
    progress?.set(at, "failed");
    throw error;
  }
}

/**
 * Receives and verifies what a receipt names. Returns the bytes, unless they were written to its handle: of a download
 * that fails, nothing is left there.
 */
export async function receiveFile(
  { parts, listing, handle }: Receipt,
  report: (report: FileReport) => void,
): Promise<Blob | undefined> {
  if (listing) await requireListed(listing, parts);
  const segments = parts.reduce((sum, file) => sum + new FileCheck(keccak, file).shape.segments, 0);
  const progress = new Progress(segments, report);
  const file = await handle?.createWritable();
  const received: Blob[] = [];
  try {
    // A blob per segment lets the browser keep them outside of this thread's memory.
    await receive(parts, progress, (data) =>
      file ? file.write(data) : void received.push(new Blob([data])),
    );
    await file?.close();
  } catch (error) {
    await file?.abort().catch(() => {});
    throw error;
  } finally {
    progress.flush();
  }
  return file ? undefined : new Blob(received);
}

/** Verifies the manifest of a folder, and that it lists a file with these parts. */
async function requireListed(
  { folder, names }: NonNullable<Receipt["listing"]>,
  parts: readonly StoredFile[],
): Promise<void> {
  if (folder.sizeBytes > FOLDER_LIMITS.bytes) throw new Error("The folder is too large to be verified here.");
  const manifest: Uint8Array<ArrayBuffer>[] = [];
  await receive([folder], undefined, (data) => void manifest.push(data));
  const bytes = new Uint8Array(await new Blob(manifest).arrayBuffer());
  const entry = findEntry(decodeFolder(bytes), names);
  const sizeBytes = parts.reduce((sum, part) => sum + part.sizeBytes, 0);
  const roots = parts.map(({ root }) => root.toLowerCase()).join();
  if (entry.kind !== "file" || entry.roots.join() !== roots || entry.sizeBytes !== sizeBytes)
    throw new Error("The verified folder lists another file at this path. Nothing was saved.");
}
