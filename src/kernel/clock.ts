/** Time as the domain sees it, so that tests can hold it in hand. */
export type Clock = {
  /** Wall-clock time, for timestamps only. */
  now(): Date;
  /** Milliseconds that only go forward, for intervals. */
  monotonicMs(): number;
};

/** The machine's own clock. */
export const systemClock: Clock = { now: () => new Date(), monotonicMs: () => performance.now() };
