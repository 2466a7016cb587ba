import { AppError, ClientLeftError } from "../kernel/errors.ts";

/** How many expensive reads may run and wait in this process. `waitMs` is the maximum time in the queue. */
export type ReadLimits = {
  readonly maxRunning: number;
  readonly maxRunningPerAccount: number;
  readonly maxWaiting: number;
  readonly maxWaitingPerAccount: number;
  readonly waitMs: number;
};

/** Three open pages of the dashboard, and the reads of a script at the same time. */
export const MAX_WAITING_PER_ACCOUNT = 64;

type Start = () => void;

const RETRY_SECONDS = 1;
const MAX_REST_MS = 100;

/**
 * Schedules expensive reads: a few run at once, one account never occupies all slots, and the queue is bounded in
 * length and time. Waiting accounts are served round-robin, however many reads each has waiting.
 *
 * After a read, an account with more of them waiting rests for as long as it took, so that one account reads half of
 * the time at most, and other customers' requests never take twice as long because of it.
 */
export class ReadLimiter {
  readonly #limits: ReadLimits;
  readonly #running = new Map<string, number>();
  /** By account, the next one first. No set is empty. */
  readonly #waiting = new Map<string, Set<Start>>();
  readonly #resting = new Set<string>();
  #runningCount = 0;
  #waitingCount = 0;

  constructor(limits: ReadLimits) {
    this.#limits = limits;
  }

  /**
   * Runs `read` when it is the account's turn. Throws `rate_limit_exceeded` if too many reads of the account are
   * waiting, `unavailable` if too many are waiting in total, the turn does not come in time, or `signal` aborts before:
   * the read is then never started.
   */
  async run<T>(account: string, read: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    if (signal?.aborted) throw new ClientLeftError();
    if (this.#mayRun(account)) this.#acquire(account);
    else await this.#turn(account, signal);
    const startedMs = performance.now();
    try {
      return await read();
    } finally {
      this.#rest(account, performance.now() - startedMs);
      this.#release(account);
    }
  }

  #mayRun(account: string): boolean {
    const { maxRunning, maxRunningPerAccount } = this.#limits;
    return (
      this.#runningCount < maxRunning &&
      !this.#resting.has(account) &&
      (this.#running.get(account) ?? 0) < maxRunningPerAccount
    );
  }

  #rest(account: string, tookMs: number): void {
    if (!this.#waiting.has(account) || this.#resting.has(account)) return;
    this.#resting.add(account);
    setTimeout(
      () => {
        this.#resting.delete(account);
        this.#startNext();
      },
      Math.min(tookMs, MAX_REST_MS),
    );
  }

  #acquire(account: string): void {
    this.#runningCount++;
    this.#running.set(account, (this.#running.get(account) ?? 0) + 1);
  }

  #release(account: string): void {
    this.#runningCount--;
    const left = (this.#running.get(account) ?? 1) - 1;
    if (left > 0) this.#running.set(account, left);
    else this.#running.delete(account);
    this.#startNext();
  }

  #startNext(): void {
    for (const [account, starts] of this.#waiting) {
      const [start] = starts;
      if (!start || !this.#mayRun(account)) continue;
      this.#dequeue(account, start);
      // To the end of the queue.
      if (this.#waiting.delete(account)) this.#waiting.set(account, starts);
      this.#acquire(account);
      start();
      return;
    }
  }

  /** Returns false if the read is no longer waiting. */
  #dequeue(account: string, start: Start): boolean {
    const starts = this.#waiting.get(account);
    if (!starts?.delete(start)) return false;
    this.#waitingCount--;
    if (starts.size === 0) this.#waiting.delete(account);
    return true;
  }

  async #turn(account: string, signal: AbortSignal | undefined): Promise<void> {
    const { maxWaiting, maxWaitingPerAccount, waitMs } = this.#limits;
    const starts = this.#waiting.get(account) ?? new Set();
    if (starts.size >= maxWaitingPerAccount) throw tooManyOfAccount();
    if (this.#waitingCount >= maxWaiting) throw tooBusy();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const giveUp = (reason: AppError) => {
      if (this.#dequeue(account, resolve)) reject(reason);
    };
    const onAbort = () => giveUp(new ClientLeftError());
    const timer = setTimeout(() => giveUp(tooBusy()), waitMs);
    signal?.addEventListener("abort", onAbort, { once: true });
    this.#waiting.set(account, starts.add(resolve));
    this.#waitingCount++;
    await promise.finally(() => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
    });
  }
}

function tooManyOfAccount(): AppError {
  return new AppError("rate_limit_exceeded", "Too many reads of this account's lists and sums are waiting.", {
    retryAfterSeconds: RETRY_SECONDS,
  });
}

function tooBusy(): AppError {
  return new AppError("unavailable", "Too many reads of lists and sums are in progress. Try again later.", {
    retryAfterSeconds: RETRY_SECONDS,
  });
}
