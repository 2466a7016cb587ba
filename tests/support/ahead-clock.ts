import { systemClock, type WaitingClock } from "../../src/kernel/clock.ts";

/** The system's clock, whose intervals a test makes end earlier. Its wall-clock time stays the system's. */
export class AheadClock implements WaitingClock {
  #aheadMs = 0;
  readonly now = systemClock.now;
  readonly sleep = systemClock.sleep;

  monotonicMs(): number {
    return systemClock.monotonicMs() + this.#aheadMs;
  }

  /** Lets so much time pass at once. */
  advance(ms: number): void {
    this.#aheadMs += ms;
  }
}
