import { setImmediate as setImmediateCallback } from "node:timers";
import { setImmediate } from "node:timers/promises";
import { nextTurn } from "./next-turn.ts";

/** Bytes that are searched or hashed in one turn of the event loop: at most 10 ms. */
export const TURN_BYTES = 1_048_576;

/**
 * Splits work on many bytes into turns of the event loop. One meter is for one piece of work with all its parts: many
 * short parts take as long as one long part.
 */
export class TurnMeter {
  #leftBytes = TURN_BYTES;

  /** Bytes that may be processed before `spend` is called. */
  get leftBytes(): number {
    return this.#leftBytes;
  }

  /** Counts processed bytes. If the turn's budget is used up, resolves in the next turn. */
  async spend(bytes: number): Promise<void> {
    this.#leftBytes -= bytes;
    if (this.#leftBytes > 0) return;
    this.#leftBytes = TURN_BYTES;
    await setImmediate();
  }
}

/** `bytes.indexOf(pattern, from)`, in as many turns as needed. */
export async function indexOfInTurns(
  meter: TurnMeter,
  bytes: Buffer,
  pattern: Buffer,
  from = 0,
): Promise<number> {
  const overlap = pattern.length - 1;
  for (let at = from; ; ) {
    const end = Math.min(bytes.length, at + meter.leftBytes + overlap);
    const found = bytes.subarray(at, end).indexOf(pattern);
    await meter.spend(found === -1 ? end - at : found + pattern.length);
    if (found !== -1) return at + found;
    if (end === bytes.length) return -1;
    at = end - overlap;
  }
}

/** Passes bytes to `take`, such as a hash, in as many turns as needed. */
export async function feedInTurns(
  meter: TurnMeter,
  bytes: Uint8Array,
  take: (part: Uint8Array) => unknown,
): Promise<void> {
  for (let at = 0; at < bytes.length; ) {
    const part = bytes.subarray(at, at + meter.leftBytes);
    take(part);
    at += part.length;
    await meter.spend(part.length);
  }
}

type Task = { readonly bytes: number; readonly run: () => void; readonly signal?: AbortSignal | undefined };

/** Splits the work of many tasks, such as bodies read concurrently, into turns of the event loop, in order. */
export class TurnQueue {
  readonly #waiting: Task[] = [];
  #leftBytes = TURN_BYTES;
  #isScheduled = false;

  /** Runs now, or in a later turn if this one is used up. The queue is unbounded: callers must apply backpressure. */
  take(bytes: number, run: () => void, signal?: AbortSignal): void {
    if (!this.#isScheduled) this.#schedule();
    const task = { bytes, run, signal };
    if (this.#waiting.length > 0 || this.#leftBytes <= 0) this.#waiting.push(task);
    else this.#run(task);
  }

  /**
   * Resolves in a later turn that is not used up, and counts so many bytes of it: none if `signal` has aborted by then,
   * which callers check before they do the work.
   */
  async next(bytes: number, signal?: AbortSignal): Promise<void> {
    await nextTurn();
    return new Promise((run) => this.take(bytes, run, signal));
  }

  #run({ bytes, run, signal }: Task): void {
    if (!signal?.aborted) this.#leftBytes -= bytes;
    run();
  }

  #schedule(): void {
    this.#isScheduled = true;
    setImmediateCallback(() => {
      this.#isScheduled = false;
      this.#leftBytes = TURN_BYTES;
      for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) {
        this.#run(next);
        if (this.#leftBytes <= 0) break;
      }
      if (this.#waiting.length > 0 || this.#leftBytes <= 0) this.#schedule();
    });
  }
}

/** The turns of large operations of the graph, in which they and then their root fields are executed. */
export const operationTurns = new TurnQueue();
