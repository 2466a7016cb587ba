import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "../../../src/kernel/errors.ts";
import type { SubgraphResult } from "./subgraph-executor.ts";

type Source = AsyncIterator<SubgraphResult>;

/** How a source is opened again. */
export type Resuming = {
  /** Opens it behind a cursor. */
  open(after: string): Promise<Source | SubgraphResult> | Source | SubgraphResult;
  cursorOf(event: SubgraphResult): string | undefined;
  /** Hears of every loss that is made good, and of tries that failed. */
  onLost(reason: unknown): void;
  /** How long it is tried before the loss is told. */
  readonly patienceMs: number;
};

const FIRST_PAUSE_MS = 50;
const MAX_PAUSE_MS = 2_000;
/** A source that lived so long had nothing to do with the loss before. */
const HEALTHY_MS = 30_000;
const DONE: IteratorResult<SubgraphResult> = { done: true, value: undefined };

/**
 * A source that is opened again, behind the last event it gave, when it is lost; the reader only waits. Events come at
 * least once and in order. Without a cursor nothing says where to resume, and a loss is told at once, as it is after
 * `patienceMs`. A reader that is too slow is no loss: it hears so.
 */
export class ResumedSource implements Source {
  readonly #resuming: Resuming;
  #source: Source;
  #cursor: string | undefined;
  #isLeft = false;
  /** Ends the pause between two tries. */
  #pausing: AbortController | undefined;
  #tries = 0;
  #openedAt = performance.now();
  #lostAt = 0;

  constructor(source: Source, cursor: string | undefined, resuming: Resuming) {
    this.#source = source;
    this.#cursor = cursor;
    this.#resuming = resuming;
  }

  async next(): Promise<IteratorResult<SubgraphResult>> {
    while (!this.#isLeft) {
      try {
        const result = await this.#source.next();
        if (result.done) return result;
        if (this.#tries > 0 && isUnavailable(result.value))
          throw new Error("the source is not available again yet");
        this.#cursor = this.#resuming.cursorOf(result.value) ?? this.#cursor;
        this.#tries = 0;
        return result;
      } catch (reason) {
        await this.#resume(reason);
      }
    }
    return DONE;
  }

  async return(): Promise<IteratorResult<SubgraphResult>> {
    this.#isLeft = true;
    this.#pausing?.abort();
    await this.#source.return?.();
    return DONE;
  }

  /** Waits and opens the source again; throws `reason` when there is no hope. */
  async #resume(reason: unknown): Promise<void> {
    const cursor = this.#cursor;
    if (this.#isLeft) return;
    if (cursor === undefined || reason instanceof AppError) throw reason;
    const now = performance.now();
    if (this.#tries === 0 || now - this.#openedAt > HEALTHY_MS) {
      this.#tries = 0;
      this.#lostAt = now;
    }
    if (now - this.#lostAt > this.#resuming.patienceMs) throw reason;
    this.#resuming.onLost(reason);
    await this.#pause();
    if (this.#isLeft) return;
    await this.#open(cursor);
  }

  async #open(cursor: string): Promise<void> {
    this.#openedAt = performance.now();
    let opened: Source | SubgraphResult;
    try {
      opened = await this.#resuming.open(cursor);
    } catch (reason) {
      this.#source = failing(reason);
      return;
    }
    this.#source = "next" in opened ? opened : only(opened);
    // The reader may have left while it was being opened.
    if (this.#isLeft) await this.#source.return?.();
  }

  async #pause(): Promise<void> {
    const longest = Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** this.#tries);
    this.#tries += 1;
    this.#pausing = new AbortController();
    const { signal } = this.#pausing;
    // Many that lost the same source do not come back at the same moment.
    await sleep(longest * (0.5 + Math.random() / 2), undefined, { signal }).catch(() => {});
  }
}

function isUnavailable({ data, errors = [] }: SubgraphResult): boolean {
  return !data && errors.length > 0 && errors.every(({ extensions }) => extensions?.code === "unavailable");
}

function failing(reason: unknown): Source {
  return { next: () => Promise.reject(reason) };
}

function only(result: SubgraphResult): Source {
  let isGiven = false;
  return {
    async next() {
      if (isGiven) return DONE;
      isGiven = true;
      return { done: false, value: result };
    },
  };
}
