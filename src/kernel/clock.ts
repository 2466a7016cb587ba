import { setTimeout as sleep } from "node:timers/promises";

/** Time as the domain sees it, so that tests can hold it in hand. */
export type Clock = {
  /** Wall-clock time, for timestamps only. */
  now(): Date;
  /** Milliseconds that only go forward, for intervals. */
  monotonicMs(): number;
};

/** A clock that can also be waited for. */
export type WaitingClock = Clock & {
  /** Resolves after so many milliseconds, or as soon as `signal` aborts. Never rejects. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
};

/** The machine's own clock. */
export const systemClock: WaitingClock = {
  now: () => new Date(),
  monotonicMs: () => performance.now(),
  sleep: (ms, signal) => sleep(ms, undefined, { signal }).catch(() => {}),
};
