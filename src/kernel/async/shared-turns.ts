import { nextTurn } from "./next-turn.ts";

/** How long such work may take of one turn of the event loop, milliseconds. */
const TURN_MS = 8;

/**
 * Shares the turns of the event loop among work that comes in bursts of many short parts, such as one event for each of
 * thousands of subscribers, or the end of all connections of a proxy.
 */
export class SharedTurns {
  #waiting: (() => void)[] = [];
  #startedMs: number | undefined;

  /** Undefined while this turn has time for such work; else resolves in a later turn that has. */
  next(): Promise<void> | undefined {
    this.#startedMs ??= this.#open();
    if (this.#hasTime(this.#startedMs)) return undefined;
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #open(): number {
    void nextTurn().then(() => this.#begin());
    return performance.now();
  }

  async #begin(): Promise<void> {
    this.#startedMs = undefined;
    if (this.#waiting.length === 0) return;
    const startedMs = this.#open();
    this.#startedMs = startedMs;
    const waiting = this.#waiting;
    this.#waiting = [];
    let begun = 0;
    for (; begun < waiting.length && this.#hasTime(startedMs); begun++) {
      waiting[begun]?.();
      // It runs in the microtasks that follow.
      await undefined;
    }
    if (begun < waiting.length) this.#waiting = [...waiting.slice(begun), ...this.#waiting];
  }

  #hasTime(startedMs: number): boolean {
    return performance.now() - startedMs < TURN_MS;
  }
}

/** The turns in which subscribers receive events, requests go on and connections end, of the whole process. */
export const sharedTurns = new SharedTurns();

/**
 * The result of work that ends for many callers at once, such as a request to a server that hung: each goes on in a turn of
 * the event loop that has time for it.
 */
export async function resumeInTurn<Result>(work: Promise<Result>, turns = sharedTurns): Promise<Result> {
  try {
    return await work;
  } finally {
    const turn = turns.next();
    if (turn) await turn;
  }
}

/** Calls `run` now if this turn of the event loop has time for it, else in a later one. */
export function runInTurn(run: () => void, turns = sharedTurns): void {
  const turn = turns.next();
  if (turn) void turn.then(run);
  else run();
}

/**
 * Calls `run` for each of the items in order, in as many turns of the event loop as this and what follows from it take:
 * readers of an event, for example, handle it in microtasks.
 */
export async function forEachInTurns<Item>(
  items: readonly Item[],
  run: (item: Item) => void,
  turns = sharedTurns,
): Promise<void> {
  for (const item of items) {
    const turn = turns.next();
    if (turn) await turn;
    run(item);
    await undefined;
  }
}
