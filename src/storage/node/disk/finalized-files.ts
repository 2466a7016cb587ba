import QuickLRU from "quick-lru";
import type { Hex } from "../../../kernel/text/hex.ts";
import type { FoundFile } from "../held/held-files.store.ts";

const KNOWN_FILES = 16_384;
/** How long a file is cached at most. */
const KNOWN_MS = 60_000;
/** How long cached files are trusted before the generation is read again. */
const TRUSTED_MS = 5_000;

/**
 * A cache of finalized files by root. They stay finalized within one generation of the database, and one read of the
 * generation serves all of them: reading a cached file again costs no statement of its own.
 */
export class FinalizedFiles {
  readonly #readGeneration: () => Promise<bigint>;
  readonly #files = new QuickLRU<Hex, FoundFile>({ maxSize: KNOWN_FILES, maxAge: KNOWN_MS });
  #generation = -1n;
  #trustedUntil = 0;
  #refreshing: Promise<void> | undefined;

  constructor(readGeneration: () => Promise<bigint>) {
    this.#readGeneration = readGeneration;
  }

  /** The file of a root, undefined when it must be read from the database. */
  async get(root: Hex): Promise<FoundFile | undefined> {
    if (!this.#files.has(root)) return undefined;
    if (performance.now() > this.#trustedUntil) await this.#refresh();
    const file = this.#files.get(root);
    return file?.generation === this.#generation ? file : undefined;
  }

  /** Caches a finalized file, unless it was read in an older generation than the newest known one. */
  keep(file: FoundFile): void {
    if (file.generation > this.#generation) this.#generation = file.generation;
    if (file.generation === this.#generation) this.#files.set(file.root, file);
  }

  forget(root: Hex): void {
    this.#files.delete(root);
  }

  #refresh(): Promise<void> {
    const startedAt = performance.now();
    this.#refreshing ??= this.#readGeneration()
      .then((generation) => {
        if (generation > this.#generation) this.#generation = generation;
        this.#trustedUntil = startedAt + TRUSTED_MS;
      })
      .finally(() => {
        this.#refreshing = undefined;
      });
    return this.#refreshing;
  }
}
