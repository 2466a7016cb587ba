import { setTimeout as sleep } from "node:timers/promises";

/** A clock, so that tests can control time. What is stored or compared with other machines is by `DatabaseClock`. */
export type Clock = {
  /** Wall-clock time, for timestamps only. */
  now(): Date;
  /** Monotonic milliseconds, for intervals. */
  monotonicMs(): number;
};

/** A clock that can also sleep. */
export type WaitingClock = Clock & {
  /** Resolves after `ms` milliseconds, or as soon as `signal` aborts. Never rejects. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
};

/** The system clock. */
export const systemClock: WaitingClock = {
  now: () => new Date(),
  monotonicMs: () => performance.now(),
  sleep: (ms, signal) => sleep(ms, undefined, { signal }).catch(() => {}),
};
