/** When attempts are repeated. */
export type RetryOptions = {
  /** The pause before the second attempt, milliseconds; it doubles with each further one. Default: 250. */
  readonly minPauseMs?: number;
  /** The longest pause. Default: 15,000. */
  readonly maxPauseMs?: number;
  /**
   * How long to keep trying without a connection. Default: 24 h, for which the server keeps events.
   */
  readonly giveUpAfterMs?: number;
};

export const RETRY_DEFAULTS: Required<RetryOptions> = {
  minPauseMs: 250,
  maxPauseMs: 15_000,
  giveUpAfterMs: 24 * 3_600_000,
};

/** The pause after this many consecutive failures, milliseconds: doubled each time up to a bound, less up to half of it. */
export function pauseMs(failures: number, { minPauseMs, maxPauseMs }: Required<RetryOptions>): number {
  const fullMs = Math.min(maxPauseMs, minPauseMs * 2 ** Math.min(failures - 1, 30));
  return fullMs * (0.5 + Math.random() / 2);
}

/** Timers with a longer time run at once. */
const MAX_TIMER_MS = 2_147_483_647;

/** The setting's value or its default. Throws a `RangeError` for anything but a number of at least 0. */
export function numberOf(name: string, given: number | undefined, byDefault: number): number {
  const value = given ?? byDefault;
  if (value >= 0) return value;
  throw new RangeError(`${name}: ${value} is not a number of at least 0.`);
}

/** A signal that aborts after any time: `AbortSignal.timeout` takes whole numbers, and no longer ones than timers do. */
export function timeoutSignal(ms: number): AbortSignal {
  return AbortSignal.timeout(Math.ceil(Math.min(ms, MAX_TIMER_MS)));
}

/** A timer that takes any time, `Infinity` too: what is longer than timers can be runs after their longest. */
export function startTimer(callback: () => void, ms: number): ReturnType<typeof setTimeout> {
  return setTimeout(callback, Math.min(ms, MAX_TIMER_MS));
}

type Listening = {
  addEventListener?(type: "online", listener: () => void): void;
  removeEventListener?(type: "online", listener: () => void): void;
};

/** Calls back once: after `ms`, or as soon as the browser is online again. The returned function cancels it. */
export function wake(ms: number, callback: () => void): () => void {
  const events = globalThis as Listening;
  const cancel = () => {
    clearTimeout(timer);
    events.removeEventListener?.("online", run);
  };
  const run = () => {
    cancel();
    callback();
  };
  const timer = startTimer(run, ms);
  events.addEventListener?.("online", run);
  return cancel;
}
