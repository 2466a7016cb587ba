import type { MemoryLease } from "./memory-budget.ts";

/** The part of a `MemoryLease` that the code building a response may use. */
export type AnswerMemory = Pick<MemoryLease, "reserve" | "charge">;

/**
 * The memory that the results of one operation hold until they are sent, on a connection that carries several
 * operations or results.
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

  /** Releases the memory of the results that were sent. */
  release(): void {
    this.#lease?.release();
    this.#lease = undefined;
  }

  /** Releases everything permanently: results built after the end are not sent. */
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
