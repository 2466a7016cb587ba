import QuickLRU from "quick-lru";
import type { Hex } from "../../kernel/text/hex.ts";
import type { FoundFile } from "./held-files.store.ts";

const KNOWN_FILES = 16_384;
/** How long one is remembered in any case. */
const KNOWN_MS = 60_000;
/** How long a finalized file is taken to be one without asking whether the generation is still the same. */
const TRUSTED_MS = 5_000;

/**
 * Files that were found finalized, by their roots. They stay so within one generation of the database, and that is asked
 * for once for all of them: a file that is read again costs no statement of its own, however many there are.
 */
export class FinalizedFiles {
  readonly #readGeneration: () => Promise<bigint>;
  readonly #files = new QuickLRU<Hex, FoundFile>({ maxSize: KNOWN_FILES, maxAge: KNOWN_MS });
  #generation = -1n;
  #trustedUntil = 0;
  #asking: Promise<void> | undefined;

  constructor(readGeneration: () => Promise<bigint>) {
    this.#readGeneration = readGeneration;
  }

  /** The file of a root, undefined when it has to be asked for. */
  async get(root: Hex): Promise<FoundFile | undefined> {
    if (!this.#files.has(root)) return undefined;
    if (performance.now() > this.#trustedUntil) await this.#ask();
    const file = this.#files.get(root);
    return file?.generation === this.#generation ? file : undefined;
  }

  /** Remembers a file that is finalized; an answer that is older than the newest known generation is none. */
  keep(file: FoundFile): void {
    if (file.generation > this.#generation) this.#generation = file.generation;
    if (file.generation === this.#generation) this.#files.set(file.root, file);
  }

  forget(root: Hex): void {
    this.#files.delete(root);
  }

  #ask(): Promise<void> {
    const askedAt = performance.now();
    this.#asking ??= this.#readGeneration()
      .then((generation) => {
        if (generation > this.#generation) this.#generation = generation;
        this.#trustedUntil = askedAt + TRUSTED_MS;
      })
      .finally(() => {
        this.#asking = undefined;
      });
    return this.#asking;
  }
}
