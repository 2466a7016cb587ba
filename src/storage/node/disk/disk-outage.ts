import { AppError, LoggedError } from "../../../kernel/errors.ts";
import type { Logger } from "../../../kernel/log.ts";

/** How long a failed write counts: then the disk is assumed to accept writes until one fails again. */
const FAILED_MS = 10_000;

const REASONS: Readonly<Record<string, string>> = {
  ENOSPC: "no space left",
  EDQUOT: "no space left",
  EFBIG: "no space left",
  EROFS: "read-only",
};

/**
 * Whether the disk of a storage node accepts writes, by the outcomes of uploads. An outage is logged once, however many
 * uploads fail, and its end once.
 */
export class DiskOutage {
  readonly #folder: string;
  readonly #log: Logger;
  #reason: string | undefined;
  #failedAtMs = Number.NEGATIVE_INFINITY;

  constructor(folder: string, log: Logger) {
    this.#folder = folder;
    this.#log = log;
  }

  /** Why a write failed in the last 10 s, in a few words; undefined if none did. */
  get reason(): string | undefined {
    return this.#isRecent() ? this.#reason : undefined;
  }

  /** Runs a write. Throws `unavailable` if the file system refuses it; other errors are thrown unchanged. */
  async watch<T>(write: () => Promise<T>): Promise<T> {
    try {
      const written = await write();
      this.#succeeded();
      return written;
    } catch (error) {
      throw isOfFileSystem(error) ? this.#failed(error) : error;
    }
  }

  #failed(cause: NodeJS.ErrnoException): LoggedError {
    const reason = REASONS[cause.code ?? ""] ?? "not writable";
    if (this.#reason === undefined)
      this.#log.error(
        { err: cause, folder: this.#folder, reason },
        "STORAGE_DIR cannot be written: uploads are refused until it can, and stored files can still be read",
      );
    this.#reason = reason;
    this.#failedAtMs = performance.now();
    return new LoggedError("unavailable", `The storage disk is unusable: ${reason}. Try again later.`, {
      cause,
      retryAfterSeconds: FAILED_MS / 1_000,
    });
  }

  /** A disk that is nearly full accepts small segments between failures of large ones: that is not the end. */
  #succeeded(): void {
    if (this.#reason === undefined || this.#isRecent()) return;
    this.#reason = undefined;
    this.#log.info({ folder: this.#folder }, "STORAGE_DIR can be written again");
  }

  #isRecent(): boolean {
    return performance.now() - this.#failedAtMs < FAILED_MS;
  }
}

/** Whether a call of the file system failed. Failures of the database are `AppError`s, or have no call. */
function isOfFileSystem(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && !(error instanceof AppError) && "syscall" in error;
}
