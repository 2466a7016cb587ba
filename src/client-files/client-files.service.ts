import type { Database } from "../db/database.ts";
import { AppError } from "../kernel/errors.ts";
import { type Page, type PageRequest, pageLimit, scanOf, toPage } from "../kernel/page.ts";
import { isId, newId } from "../kernel/text/ids.ts";
import type { Reach, Spender } from "../keys/auth/permissions.ts";
import {
  type ClientFile,
  dropFile,
  type FilePlace,
  type FilePurpose,
  findFile,
  findPlace,
  finishFile,
  growFile,
  hideFile,
  insertFile,
  insertPart,
  listFiles,
  lockFilesOf,
  sealedKeyOf,
  usedBy,
} from "./client-file.store.ts";
import type { FileCipher, FileKey } from "./file-cipher.ts";
import { FileReader } from "./file-reader.ts";
import { PART_BYTES } from "./file-shape.ts";

export type { ClientFile, FilePurpose } from "./client-file.store.ts";

type Dependencies = {
  readonly database: Database;
  readonly cipher: FileCipher;
  readonly settings: FileSettings;
};

/** Limits of files. */
export type FileSettings = {
  /** The largest file that is accepted, bytes. */
  readonly maxBytes: number;
  /** The size of all files of an account from which on it can add none, bytes. */
  readonly quotaBytes: number;
  readonly retentionSeconds: number;
};

/** The number of files that an account may have. */
const MAX_FILES = 10_000;

/** The upload of a file, part by part. End it with `finish` or `abandon`. */
export type FileUpload = {
  /** Stores more of the content, once it is enough for a part. Throws `file_too_large` and `storage_quota_exceeded`. */
  write(bytes: Buffer): Promise<void>;
  /**
   * Stores the rest, and shows the file to its owner until it expires: after the default time, or a shorter one. Throws
   * `storage_quota_exceeded`.
   */
  finish(retentionSeconds?: number): Promise<ClientFile>;
  /** Deletes what was stored. */
  abandon(): Promise<void>;
};

/**
 * Files of clients: the requests of batches and their answers. Content is stored encrypted in the database, which every
 * process can read, and deleted when the file expires. A file that the caller may not access is reported as not found.
 */
export class ClientFilesService {
  readonly #dependencies: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  get settings(): FileSettings {
    return this.#dependencies.settings;
  }

  /**
   * Begins the upload of a file. Its announced size, the most that it may have, counts against the quota from now on;
   * a file without one counts as its content arrives. Throws `storage_quota_exceeded` if the account has no room.
   */
  async begin(
    { account, keyId }: Spender,
    { filename, announcedBytes }: { readonly filename: string; readonly announcedBytes?: number | undefined },
  ): Promise<FileUpload> {
    const { database, cipher, settings } = this.#dependencies;
    const id = newId();
    const maxBytes = Math.min(announcedBytes ?? settings.maxBytes, settings.maxBytes);
    const sizeBytes = announcedBytes === undefined ? 0 : maxBytes;
    const sealedKey = cipher.newKey(id);
    const file = { id, account, keyId, purpose: "batch", filename, sizeBytes, sealedKey } as const;
    await database.transaction(async (tx) => {
      await this.requireRoom(tx, account, sizeBytes);
      await insertFile(tx, { ...file, retentionSeconds: settings.retentionSeconds });
    });
    const { retentionSeconds } = settings;
    const key = cipher.open(id, sealedKey);
    return new Upload({
      ...{ database, files: this, file: { id, account, keyId }, key },
      ...{ maxBytes, reservedBytes: sizeBytes, retentionSeconds },
    });
  }

  /**
   * Requires that an account has room for a file of this size, or for more content of one that it has (`newFiles` 0),
   * and lets no other transaction add any meanwhile. Throws `storage_quota_exceeded`.
   */
  async requireRoom(
    tx: Parameters<typeof lockFilesOf>[0],
    account: string,
    sizeBytes: number,
    newFiles = 1,
  ): Promise<void> {
    const { quotaBytes } = this.#dependencies.settings;
    await lockFilesOf(tx, account);
    const { bytes, files } = await usedBy(tx, account);
    if (bytes + BigInt(sizeBytes) <= BigInt(quotaBytes) && files + newFiles <= MAX_FILES) return;
    throw new AppError(
      "storage_quota_exceeded",
      `This account may store at most ${MAX_FILES} files, of ${quotaBytes} bytes in total. Delete some to add others.`,
    );
  }

  /** A file that the caller may access. Throws `file_not_found`, with `param` if a field names the file. */
  async get(reach: Reach, id: string, param?: string): Promise<ClientFile> {
    const file = isId(id) ? await findFile(this.#dependencies.database, reach, id) : undefined;
    if (!file) throw fileNotFound(param);
    return file;
  }

  /**
   * The files that the caller may access, in the order of their creation or, by default, newest first. A page may begin
   * after a file that was deleted meanwhile, or has expired, until it is removed. Throws `file_not_found`.
   */
  async list(
    reach: Reach,
    page: { readonly limit: number; readonly after?: string | undefined },
    { purpose, order = "desc" }: { purpose?: FilePurpose | undefined; order?: "asc" | "desc" | undefined },
  ): Promise<Page<ClientFile>> {
    const { limit, after } = page;
    const from = after === undefined ? undefined : await this.#place(reach, after);
    const request: PageRequest = { first: limit, after };
    const query = { limit: pageLimit(request), scan: scanOf(request, order), purpose, from };
    return toPage(await listFiles(this.#dependencies.database, reach, query), request);
  }

  async #place(reach: Reach, id: string): Promise<FilePlace> {
    const place = isId(id) ? await findPlace(this.#dependencies.database, reach, id) : undefined;
    if (!place) throw fileNotFound("after");
    return place;
  }

  /** Deletes a file. A batch that reads it continues. Throws `file_not_found`. */
  async delete(reach: Reach, id: string): Promise<void> {
    const file = await this.get(reach, id);
    await hideFile(this.#dependencies.database, file.id);
  }

  /** Reads the content of a file that `get` returned, or of the input of a batch. Throws as `keyOf`. */
  async read(id: string): Promise<FileReader> {
    const { database } = this.#dependencies;
    return new FileReader({ queries: database, id, key: await this.keyOf(id) });
  }

  /**
   * The key of a file, also of one that is hidden. Throws `file_not_found`, and `precondition_failed` for a file that
   * was stored under another secret, with `param` if a field names the file.
   */
  async keyOf(id: string, param?: string): Promise<FileKey> {
    const { database, cipher } = this.#dependencies;
    const sealed = await sealedKeyOf(database, id);
    if (!sealed) throw fileNotFound(param);
    try {
      return cipher.open(id, sealed);
    } catch (cause) {
      throw new AppError("precondition_failed", "The file was stored under another BATCH_FILES_SECRET.", {
        cause,
        ...(param !== undefined && { param }),
      });
    }
  }

  /** The failure for a file over the limit. */
  tooLarge(): AppError {
    return fileTooLarge(this.#dependencies.settings.maxBytes);
  }

  /** The encrypted key of a new file. */
  newKey(id: string): Buffer {
    return this.#dependencies.cipher.newKey(id);
  }
}

/** The failure for a file that does not exist, or is not the caller's; `param` is the field that names it. */
export function fileNotFound(param?: string): AppError {
  return new AppError("file_not_found", "There is no such file.", {
    ...(param !== undefined && { param }),
  });
}

function fileTooLarge(maxBytes: number): AppError {
  return new AppError("file_too_large", `A file may have at most ${maxBytes} bytes.`, { param: "file" });
}

class Upload implements FileUpload {
  readonly #database: Database;
  readonly #files: Pick<ClientFilesService, "requireRoom">;
  readonly #file: { readonly id: string } & Spender;
  readonly #key: FileKey;
  readonly #maxBytes: number;
  readonly #retentionSeconds: number;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #sizeBytes = 0;
  /** What counts against the quota. */
  #reservedBytes: number;
  #parts = 0;

  constructor(given: {
    database: Database;
    files: Pick<ClientFilesService, "requireRoom">;
    file: { readonly id: string } & Spender;
    key: FileKey;
    maxBytes: number;
    reservedBytes: number;
    retentionSeconds: number;
  }) {
    this.#retentionSeconds = given.retentionSeconds;
    this.#database = given.database;
    this.#files = given.files;
    this.#file = given.file;
    this.#key = given.key;
    this.#maxBytes = given.maxBytes;
    this.#reservedBytes = given.reservedBytes;
  }

  async write(bytes: Buffer): Promise<void> {
    this.#sizeBytes += bytes.length;
    if (this.#sizeBytes > this.#maxBytes) throw fileTooLarge(this.#maxBytes);
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
    if (this.#waitingBytes < PART_BYTES) return;
    const all = Buffer.concat(this.#waiting);
    const end = all.length - (all.length % PART_BYTES);
    this.#waiting = [all.subarray(end)];
    this.#waitingBytes = all.length - end;
    for (let at = 0; at < end; at += PART_BYTES) await this.#store(all.subarray(at, at + PART_BYTES));
  }

  async finish(retentionSeconds = this.#retentionSeconds): Promise<ClientFile> {
    if (this.#waitingBytes > 0) await this.#store(Buffer.concat(this.#waiting));
    const seconds = Math.min(retentionSeconds, this.#retentionSeconds);
    await finishFile(this.#database, this.#file.id, this.#sizeBytes, seconds);
    const file = await findFile(this.#database, this.#file, this.#file.id);
    if (!file) throw fileNotFound();
    return file;
  }

  async abandon(): Promise<void> {
    await dropFile(this.#database, this.#file.id);
  }

  async #store(part: Buffer): Promise<void> {
    const n = this.#parts++;
    await this.#reserve(this.#sizeBytes);
    await insertPart(this.#database, this.#file.id, { n, bytes: this.#key.seal(part, n) });
  }

  /** Counts what has arrived of a file whose size was not announced, before it is stored. Throws `storage_quota_exceeded`. */
  async #reserve(sizeBytes: number): Promise<void> {
    const missingBytes = sizeBytes - this.#reservedBytes;
    if (missingBytes <= 0) return;
    await this.#database.transaction(async (tx) => {
      await this.#files.requireRoom(tx, this.#file.account, missingBytes, 0);
      await growFile(tx, this.#file.id, [], missingBytes);
    });
    this.#reservedBytes = sizeBytes;
  }
}
