import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "../../../src/kernel/errors.ts";
import type { SubgraphResult } from "./subgraph-executor.ts";

type Source = AsyncIterator<SubgraphResult>;

/** How a source is reopened. */
export type Resuming = {
  /** Opens the source after a cursor. */
  open(after: string): Promise<Source | SubgraphResult> | Source | SubgraphResult;
  cursorOf(event: SubgraphResult): string | undefined;
  /** Receives every loss that is recovered, and failed attempts. */
  onLost(reason: unknown): void;
  /** How long to retry before the loss is reported. */
  readonly patienceMs: number;
};

const FIRST_PAUSE_MS = 50;
const MAX_PAUSE_MS = 2_000;
/** After this long, a new loss is unrelated to the previous one: it gets the full retry time again. */
const HEALTHY_MS = 30_000;
const DONE: IteratorResult<SubgraphResult> = { done: true, value: undefined };

/**
 * A source that is reopened after its last event when it is lost; the reader only waits. Events are delivered at
 * least once and in order. A loss without a cursor is reported at once, as there is no position to resume from; any
 * other after `patienceMs`. A reader that falls behind is not a loss: it receives that error.
 */
export class ResumedSource implements Source {
  readonly #resuming: Resuming;
  #source: Source;
  #cursor: string | undefined;
  #isLeft = false;
  /** Ends the pause between two attempts. */
  #pausing: AbortController | undefined;
  #attempts = 0;
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
        if (this.#attempts > 0 && isUnavailable(result.value))
          throw new Error("the source is not available yet");
        this.#cursor = this.#resuming.cursorOf(result.value) ?? this.#cursor;
        this.#attempts = 0;
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

  /** Waits and reopens the source; throws `reason` when it cannot be resumed. */
  async #resume(reason: unknown): Promise<void> {
    const cursor = this.#cursor;
    if (this.#isLeft) return;
    if (cursor === undefined || reason instanceof AppError) throw reason;
    const now = performance.now();
    if (this.#attempts === 0 || now - this.#openedAt > HEALTHY_MS) {
      this.#attempts = 0;
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
    // The reader may have left while the source was being opened.
    if (this.#isLeft) await this.#source.return?.();
  }

  async #pause(): Promise<void> {
    const longest = Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** this.#attempts);
    this.#attempts += 1;
    this.#pausing = new AbortController();
    const { signal } = this.#pausing;
    // Jitter: many readers that lost the same source do not return at the same moment.
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
