import type { MemoryLease } from "./memory-budget.ts";

/** What whoever builds an answer may ask of the memory budget (see `MemoryLease`). */
export type AnswerMemory = Pick<MemoryLease, "reserve" | "charge">;

/**
 * The memory that the results of one operation hold while they are built and until they were sent, where a connection
 * carries several operations or results.
 */
export class OperationMemory implements AnswerMemory {
  readonly #open: () => MemoryLease;
  #lease: MemoryLease | undefined;
  #isEnded = false;

  constructor(open: () => MemoryLease) {
    this.#open = open;
  }

  /** Like `MemoryLease.reserve`. */
  reserve(bytes: number): void {
    this.#current()?.reserve(bytes);
  }

  /** Like `MemoryLease.charge`. */
  charge(bytes: number): void {
    this.#current()?.charge(bytes);
  }

  /** Gives back what the results so far hold: they were sent. */
  release(): void {
    this.#lease?.release();
    this.#lease = undefined;
  }

  /** Releases everything, for good: what is built after the end is not sent. */
  end(): void {
    this.#isEnded = true;
    this.release();
  }

  #current(): MemoryLease | undefined {
    if (this.#isEnded) return undefined;
    this.#lease ??= this.#open();
    return this.#lease;
  }
}
