import { currentContext, runForAll } from "../tracing.ts";

/**
 * Natural batching: items that arrive while a call of `run` is in flight wait, and the next call takes all of them.
 * When idle, an item runs at once and alone; under load, batches grow by themselves. There is no timer.
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
  readonly #turns: Turns | undefined;

  /** At most `max` items a call, and at most `lanes` calls at once; one at a time of all batches with the same `turns`. */
  constructor(
    run: (items: readonly Item[]) => Promise<readonly Result[]>,
    { max = 64, lanes = 1, turns }: { max?: number; lanes?: number; turns?: Turns } = {},
  ) {
    this.#run = run;
    this.#max = max;
    this.#lanes = lanes;
    this.#turns = turns;
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
    const turn = this.#turns?.take();
    // Not in any case: an item in an idle batch runs at once.
    if (turn) await turn;
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
      this.#turns?.pass();
      this.#inFlight--;
      void this.#drain();
    }
  }
}

/** One turn at a time, in the order of arrival. */
export class Turns {
  readonly #waiting: (() => void)[] = [];
  #isTaken = false;

  /** Resolves when it is the caller's turn, who then calls `pass` once; undefined if it is already. */
  take(): Promise<void> | undefined {
    if (this.#isTaken) return new Promise((resolve) => this.#waiting.push(resolve));
    this.#isTaken = true;
  }

  pass(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#isTaken = false;
  }
}
