import { RateLimiterMemory, RateLimiterRes } from "rate-limiter-flexible";
import { type Clock, systemClock } from "../../kernel/clock.ts";
import { type Quota, type RateLimit, WINDOW_SECONDS } from "./rate-limit.ts";

/** Counts requests in this process only. */
export class MemoryRateLimit implements RateLimit {
  readonly #limiter: RateLimiterMemory;
  readonly #clock: Pick<Clock, "now">;

  /** At most `limit` requests per window for each subject. */
  constructor(limit: number, clock: Pick<Clock, "now"> = systemClock) {
    this.#clock = clock;
    this.#limiter = new RateLimiterMemory({ points: limit, duration: WINDOW_SECONDS });
  }

  take(subject: string, requests = 1): Promise<Quota> {
    return quotaOf(this.#limiter.points, this.#limiter.consume(subject, requests), this.#clock);
  }
}

/** The quota after a consumption; rethrows its error, unless the error is that the limit was exceeded. */
export async function quotaOf(
  limit: number,
  consumption: Promise<RateLimiterRes>,
  clock: Pick<Clock, "now">,
): Promise<Quota> {
  try {
    return toQuota(limit, await consumption, clock);
  } catch (reason) {
    if (reason instanceof RateLimiterRes) return { ...toQuota(limit, reason, clock), isOver: true };
    throw reason;
  }
}

function toQuota(
  limit: number,
  { remainingPoints: remaining, msBeforeNext: resetInMs }: RateLimiterRes,
  clock: Pick<Clock, "now">,
): Quota {
  const resetAt = new Date(clock.now().getTime() + resetInMs);
  return { limit, remaining, resetInMs, resetAt, isOver: false };
}
