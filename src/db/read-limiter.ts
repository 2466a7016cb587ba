import { AppError } from "../kernel/errors.ts";

/** How many expensive reads may run and wait in this process. `waitMs` is the longest wait for a turn. */
export type ReadLimits = {
  readonly maxRunning: number;
  readonly maxRunningPerAccount: number;
  readonly maxWaiting: number;
  readonly maxWaitingPerAccount: number;
  readonly waitMs: number;
};

type Waiter = { readonly account: string; readonly start: () => void };

const RETRY_SECONDS = 1;

/**
 * Gives turns to expensive reads: a few run at once, one account never takes all turns, and waiting is bounded in
 * number and in time. Turns are given in the order of arrival, among the accounts that may run one more.
 */
export class ReadLimiter {
  readonly #limits: ReadLimits;
  readonly #running = new Map<string, number>();
  readonly #waiting: Waiter[] = [];
  #runningCount = 0;

  constructor(limits: ReadLimits) {
    this.#limits = limits;
  }

  /**
   * Runs `read` when it is the account's turn. Throws `rate_limit_exceeded` when too many reads of the account wait
   * already, `unavailable` when too many wait in all, when the turn does not come in time, or when `signal` aborts
   * before it comes: the read is then never started.
   */
  async run<T>(account: string, read: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    if (signal?.aborted) throw clientLeft();
    if (this.#mayRun(account)) this.#enter(account);
    else await this.#turn(account, signal);
    try {
      return await read();
    } finally {
      this.#leave(account);
    }
  }

  #mayRun(account: string): boolean {
    const { maxRunning, maxRunningPerAccount } = this.#limits;
    return this.#runningCount < maxRunning && (this.#running.get(account) ?? 0) < maxRunningPerAccount;
  }

  #enter(account: string): void {
    this.#runningCount++;
    this.#running.set(account, (this.#running.get(account) ?? 0) + 1);
  }

  #leave(account: string): void {
    this.#runningCount--;
    const left = (this.#running.get(account) ?? 1) - 1;
    if (left > 0) this.#running.set(account, left);
    else this.#running.delete(account);
    const index = this.#waiting.findIndex((waiter) => this.#mayRun(waiter.account));
    const [next] = index < 0 ? [] : this.#waiting.splice(index, 1);
    if (!next) return;
    this.#enter(next.account);
    next.start();
  }

  async #turn(account: string, signal: AbortSignal | undefined): Promise<void> {
    const { maxWaiting, maxWaitingPerAccount, waitMs } = this.#limits;
    const own = this.#waiting.filter((waiter) => waiter.account === account).length;
    if (own >= maxWaitingPerAccount) throw tooManyOfAccount();
    if (this.#waiting.length >= maxWaiting) throw tooBusy();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiter: Waiter = { account, start: resolve };
    const giveUp = (reason: AppError) => {
      const index = this.#waiting.indexOf(waiter);
      if (index >= 0) this.#waiting.splice(index, 1);
      reject(reason);
    };
    const onAbort = () => giveUp(clientLeft());
    const timer = setTimeout(() => giveUp(tooBusy()), waitMs);
    signal?.addEventListener("abort", onAbort, { once: true });
    this.#waiting.push(waiter);
    await promise.finally(() => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
    });
  }
}

/** The failure of a read whose client left; nobody receives it. */
export function clientLeft(): AppError {
  return new AppError("unavailable", "The client left before its read was done.");
}

function tooManyOfAccount(): AppError {
  return new AppError("rate_limit_exceeded", "Too many reads of this account's usage wait already.", {
    retryAfterSeconds: RETRY_SECONDS,
  });
}

function tooBusy(): AppError {
  return new AppError("unavailable", "Too many reads of usage are under way. Try again later.", {
    retryAfterSeconds: RETRY_SECONDS,
  });
}
