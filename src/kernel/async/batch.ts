import { currentContext, runForAll } from "../tracing.ts";
import { nextTurn } from "./next-turn.ts";

type Options = {
  /** Maximum items of a call. */
  readonly max?: number;
  /** Maximum calls at once. */
  readonly lanes?: number;
  /** All batches that share it make one call at a time. */
  readonly mutex?: Mutex;
  /** Whether a call waits for the other items of the same turn of the event loop. */
  readonly gathers?: () => boolean;
};

/**
 * Natural batching: items that arrive while a call of `run` is in flight wait, and the next call takes all of them.
 * When idle, an item runs at once and alone; under load, batches grow by themselves. There is no timer: a batch that
 * `gathers` takes what the same turn of the event loop brings, such as answers that have arrived together.
 *
 * `run` returns results in the order of its items; if it throws, every item of that batch fails with that error.
 */
export class NaturalBatch<Item, Result> {
  readonly #run: (items: readonly Item[]) => Promise<readonly Result[]>;
  readonly #max: number;
  #queue: Array<{
    item: Item;
    from: ReturnType<typeof currentContext>;
    resolve(result: Result): void;
    reject(reason: unknown): void;
  }> = [];
  #inFlight = 0;
  readonly #lanes: number;
  readonly #mutex: Mutex | undefined;
  readonly #gathers: (() => boolean) | undefined;

  constructor(
    run: (items: readonly Item[]) => Promise<readonly Result[]>,
    { max = 64, lanes = 1, mutex, gathers }: Options = {},
  ) {
    this.#run = run;
    this.#max = max;
    this.#lanes = lanes;
    this.#mutex = mutex;
    this.#gathers = gathers;
  }

  /** Resolves with the result of `item`, once the batch that carried it is done. */
  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ item, from: currentContext(), resolve, reject });
      void this.#drain();
    });
  }

  async #drain(): Promise<void> {
    if (this.#inFlight >= this.#lanes || this.#queue.length === 0) return;
    this.#inFlight++;
    const locked = this.#mutex?.lock();
    // Only if it has to: an item in an idle batch runs at once, in the caller's own turn of the event loop.
    if (locked) await locked;
    if (this.#gathers?.()) await nextTurn();
    const batch = this.#queue.slice(0, this.#max);
    this.#queue = this.#queue.slice(this.#max);
    try {
      const results = await runForAll(
        batch.map(({ from }) => from),
        () => this.#run(batch.map(({ item }) => item)),
      );
      batch.forEach(({ resolve }, index) => {
        resolve(results[index] as Result);
      });
    } catch (error) {
      for (const { reject } of batch) reject(error);
    } finally {
      this.#mutex?.unlock();
      this.#inFlight--;
      void this.#drain();
    }
  }
}

/** A lock that one caller holds at a time, in the order of arrival. */
export class Mutex {
  readonly #waiting: (() => void)[] = [];
  #isLocked = false;

  /** Undefined if the caller holds the lock at once, else resolves when it does. It then calls `unlock` once. */
  lock(): Promise<void> | undefined {
    if (this.#isLocked) return new Promise((resolve) => this.#waiting.push(resolve));
    this.#isLocked = true;
  }

  /** Runs `work` under the lock. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    await this.lock();
    try {
      return await work();
    } finally {
      this.unlock();
    }
  }

  unlock(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#isLocked = false;
  }
}
