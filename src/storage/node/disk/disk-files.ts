import type { FileHandle } from "node:fs/promises";
import { constants, mkdir, open, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { NaturalBatch } from "../../../kernel/async/batch.ts";

/** Open files are closed above this number, except those in use. */
const MAX_OPEN = 256;

const READING = constants.O_RDONLY;
const WRITING = constants.O_RDWR | constants.O_CREAT;

/** An open file and its device and inode: its path may later lead to another file, or to none. */
type Opened = { readonly handle: FileHandle; readonly identity: () => Promise<Identity> };
type Identity = { readonly dev: bigint; readonly ino: bigint };

type OpenFile = {
  readonly opened: Promise<Opened>;
  readonly syncs: NaturalBatch<undefined, undefined>;
  users: number;
  /** The `performance.now()` until which readers trust that the path still leads to this file. */
  checkedUntil: number;
};

/** How long readers trust a check of the path: checking takes about as long as a read. */
const CHECKED_MS = 100;

/** After this many deletions of a file while it is in use, the operation fails. */
const MAX_ATTEMPTS = 3;

/**
 * Reads and writes at positions of files. Files stay open for a while; writes that wait for the disk at the same time
 * share one flush. A resolved write survives a crash of the machine, provided that its disk honours flushes. A file
 * that was deleted or replaced meanwhile is reopened: bytes of an unlinked file would be lost with its handle.
 */
export class DiskFiles {
  readonly #open = new Map<string, OpenFile>();
  readonly #retired = new Set<OpenFile>();

  /**
   * Writes at a position of a file and flushes it. A missing file is created with its folder; `created` is then awaited
   * before anything is written to it, by this or any other caller.
   */
  write(path: string, position: number, data: Uint8Array, created?: () => Promise<void>): Promise<void> {
    return this.#use({ path, flags: WRITING, created }, async ({ handle }, { syncs }) => {
      for (let at = 0; at < data.length; )
        at += (await handle.write(data, at, data.length - at, position + at)).bytesWritten;
      await syncs.add(undefined);
    });
  }

  /** Reads `length` bytes at a position of a file, zeros beyond its end. Throws when the file does not exist. */
  read(path: string, position: number, length: number): Promise<Buffer> {
    return this.#use({ path, flags: READING }, async ({ handle }) => {
      const data = Buffer.allocUnsafeSlow(length);
      for (let at = 0; at < length; ) {
        const { bytesRead } = await handle.read(data, at, length - at, position + at);
        if (bytesRead === 0) return data.fill(0, at);
        at += bytesRead;
      }
      return data;
    });
  }

  /** The size of the file at this path in bytes, 0 when there is none. */
  async sizeOf(path: string): Promise<number> {
    try {
      return (await stat(path)).size;
    } catch (error) {
      if (isMissing(error)) return 0;
      throw error;
    }
  }

  /** Deletes a file, if it exists. Operations that use it are not interrupted: they reopen the path when they are done. */
  async remove(path: string): Promise<void> {
    for (const flags of [READING, WRITING]) {
      const file = this.#open.get(keyOf(path, flags));
      if (file) this.#retire({ path, flags }, file);
    }
    this.#closeOldest();
    await rm(path, { force: true });
  }

  async close(): Promise<void> {
    const all = [...this.#open.values(), ...this.#retired];
    this.#open.clear();
    this.#retired.clear();
    await Promise.all(all.map(({ opened }) => opened.then(close, () => {})));
  }

  /**
   * Runs `work` on a file, and retries when the path leads to another file afterwards. Readers trust a check of the
   * path for `CHECKED_MS`; writers always check.
   */
  async #use<T>(place: Place, work: (opened: Opened, open: OpenFile) => Promise<T>): Promise<T> {
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const file = this.#acquire(place);
      try {
        const opened = await file.opened;
        const result = await work(opened, file);
        if (place.flags === READING && performance.now() < file.checkedUntil) return result;
        if (await isAt(place.path, opened)) {
          file.checkedUntil = performance.now() + CHECKED_MS;
          return result;
        }
        this.#retire(place, file);
      } finally {
        file.users--;
        this.#closeOldest();
      }
    }
    throw new Error("the file was deleted while it was in use");
  }

  #acquire(place: Place): OpenFile {
    const key = keyOf(place.path, place.flags);
    const file = this.#open.get(key) ?? this.#openFile(place);
    // A map keeps insertion order: move the file to the end, as most recently used.
    this.#open.delete(key);
    this.#open.set(key, file);
    file.users++;
    return file;
  }

  #openFile(place: Place): OpenFile {
    const key = keyOf(place.path, place.flags);
    const opened = openAt(place);
    const syncs = new NaturalBatch<undefined, undefined>(async (waiting) => {
      await (await opened).handle.datasync();
      return waiting;
    });
    const file = { opened, syncs, users: 0, checkedUntil: performance.now() + CHECKED_MS };
    opened.catch(() => {
      if (this.#open.get(key) === file) this.#open.delete(key);
    });
    return file;
  }

  /** The next caller reopens the path; the old handle is closed when its last user is done. */
  #retire({ path, flags }: Place, file: OpenFile): void {
    const key = keyOf(path, flags);
    if (this.#open.get(key) === file) this.#open.delete(key);
    this.#retired.add(file);
  }

  #closeOldest(): void {
    for (const file of this.#retired) {
      if (file.users > 0) continue;
      this.#retired.delete(file);
      void file.opened.then(close, () => {});
    }
    for (const [key, { opened, users }] of this.#open) {
      if (this.#open.size <= MAX_OPEN) return;
      if (users > 0) continue;
      this.#open.delete(key);
      void opened.then(close, () => {});
    }
  }
}

type Place = {
  readonly path: string;
  readonly flags: number;
  readonly created?: (() => Promise<void>) | undefined;
};

async function isAt(path: string, { identity }: Opened): Promise<boolean> {
  try {
    const [found, opened] = await Promise.all([stat(path, { bigint: true }), identity()]);
    return found.dev === opened.dev && found.ino === opened.ino;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

/** Whether the error means that the file does not exist. */
function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === "ENOENT";
}

async function openAt({ path, flags, created }: Place): Promise<Opened> {
  const handle = flags === READING ? await open(path, READING) : await openToWrite(path, created);
  let found: Promise<Identity> | undefined;
  const identity = () => {
    found ??= handle.stat({ bigint: true });
    return found;
  };
  return { handle, identity };
}

/** A new file's directory entry is durable only after its folder is flushed as well. */
async function openToWrite(path: string, created: (() => Promise<void>) | undefined): Promise<FileHandle> {
  try {
    return await open(path, constants.O_RDWR);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  const folder = dirname(path);
  await makeFolder(folder);
  await created?.();
  const handle = await open(path, WRITING);
  const parent = await open(folder, constants.O_RDONLY);
  await parent.sync().finally(() => parent.close());
  return handle;
}

/** Node reports a read-only disk as a missing folder if parents are to be made as well: they usually exist. */
async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder);
  } catch (error) {
    if (isMissing(error)) await mkdir(folder, { recursive: true });
    else if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

/** Readers and writers have separate handles, because only writers create missing files. */
function keyOf(path: string, flags: number): string {
  return `${flags}:${path}`;
}

async function close({ handle }: Opened): Promise<void> {
  await handle.close().catch(() => {});
}
