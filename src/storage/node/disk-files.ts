import type { FileHandle } from "node:fs/promises";
import { constants, mkdir, open, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { NaturalBatch } from "../../kernel/batch.ts";

/** Files that are kept open, and those that are in use beside them. */
const MAX_OPEN = 256;

const READING = constants.O_RDONLY;
const WRITING = constants.O_RDWR | constants.O_CREAT;

type OpenFile = {
  readonly handle: Promise<FileHandle>;
  readonly syncs: NaturalBatch<undefined, undefined>;
  users: number;
};

/**
 * Reads and writes at places of files. Files stay open for a while; writes that wait for the disk at once share one
 * flush. A write that resolved survives a crash of the machine, as far as its disk keeps its word.
 */
export class DiskFiles {
  readonly #open = new Map<string, OpenFile>();

  /** Writes at a place of a file, which is made with its folder where it is missing, and flushes it. */
  write(path: string, position: number, data: Uint8Array): Promise<void> {
    return this.#use(path, WRITING, async (handle, { syncs }) => {
      for (let at = 0; at < data.length; )
        at += (await handle.write(data, at, data.length - at, position + at)).bytesWritten;
      await syncs.add(undefined);
    });
  }

  /** Reads `length` bytes at a place of a file; what lies behind its end is zeros. Throws when there is no such file. */
  read(path: string, position: number, length: number): Promise<Buffer> {
    return this.#use(path, READING, async (handle) => {
      const data = Buffer.allocUnsafeSlow(length);
      for (let at = 0; at < length; ) {
        const { bytesRead } = await handle.read(data, at, length - at, position + at);
        if (bytesRead === 0) return data.fill(0, at);
        at += bytesRead;
      }
      return data;
    });
  }

  /** Deletes a file, if it is there. */
  async remove(path: string): Promise<void> {
    for (const flags of [READING, WRITING]) {
      const key = keyOf(path, flags);
      const open = this.#open.get(key);
      this.#open.delete(key);
      await open?.handle.then(close, () => {});
    }
    await rm(path, { force: true });
  }

  async close(): Promise<void> {
    const all = [...this.#open.values()];
    this.#open.clear();
    await Promise.all(all.map(({ handle }) => handle.then(close, () => {})));
  }

  async #use<T>(
    path: string,
    flags: number,
    work: (handle: FileHandle, open: OpenFile) => Promise<T>,
  ): Promise<T> {
    const key = keyOf(path, flags);
    const file = this.#open.get(key) ?? this.#openFile(path, flags);
    // A map keeps the order of insertion: what is used goes to its end.
    this.#open.delete(key);
    this.#open.set(key, file);
    file.users++;
    try {
      return await work(await file.handle, file);
    } finally {
      file.users--;
      this.#closeOldest();
    }
  }

  #openFile(path: string, flags: number): OpenFile {
    const handle = openAt(path, flags);
    const syncs = new NaturalBatch<undefined, undefined>(async (waiting) => {
      await (await handle).datasync();
      return waiting;
    });
    const file = { handle, syncs, users: 0 };
    const key = keyOf(path, flags);
    handle.catch(() => {
      if (this.#open.get(key) === file) this.#open.delete(key);
    });
    return file;
  }

  #closeOldest(): void {
    for (const [key, { handle, users }] of this.#open) {
      if (this.#open.size <= MAX_OPEN) return;
      if (users > 0) continue;
      this.#open.delete(key);
      void handle.then(close, () => {});
    }
  }
}

/** A new file is in its folder for good only when the folder was flushed as well. */
async function openAt(path: string, flags: number): Promise<FileHandle> {
  if (flags === READING) return open(path, READING);
  try {
    return await open(path, constants.O_RDWR);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  const folder = dirname(path);
  await mkdir(folder, { recursive: true });
  const handle = await open(path, flags);
  const parent = await open(folder, constants.O_RDONLY);
  await parent.sync().finally(() => parent.close());
  return handle;
}

/** Who writes may make a file that who reads does not find, so each has a handle of its own. */
function keyOf(path: string, flags: number): string {
  return `${flags}:${path}`;
}

async function close(handle: FileHandle): Promise<void> {
  await handle.close().catch(() => {});
}

/** Where the bytes of a file are. Its id makes the name new whenever a root comes again after it was deleted. */
export function dataPath(folder: string, root: string, id: string): string {
  const shelf = (BigInt(id) % 256n).toString(16).padStart(2, "0");
  return join(folder, shelf, `${root.slice(2)}-${id}`);
}

/** Where the roots of its segments are, 32 bytes each; a file of one segment has none. */
export function rootsPath(folder: string, root: string, id: string): string {
  return `${dataPath(folder, root, id)}.roots`;
}
