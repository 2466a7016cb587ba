import { RateLimiterMemory, RateLimiterRes } from "rate-limiter-flexible";
import { type Quota, type RateLimit, WINDOW_SECONDS } from "./rate-limit.ts";

/** Counts requests in this process only. */
export class MemoryRateLimit implements RateLimit {
  readonly #limiter: RateLimiterMemory;

  /** At most `limit` requests per window for each subject. */
  constructor(limit: number) {
    this.#limiter = new RateLimiterMemory({ points: limit, duration: WINDOW_SECONDS });
  }

  take(subject: string, requests = 1): Promise<Quota> {
    return quotaOf(this.#limiter.points, this.#limiter.consume(subject, requests));
  }
}

/** The quota after a consumption; rethrows its error, unless the error is that the limit was exceeded. */
export async function quotaOf(limit: number, consumption: Promise<RateLimiterRes>): Promise<Quota> {
  try {
    return toQuota(limit, await consumption, false);
  } catch (reason) {
    if (reason instanceof RateLimiterRes) return toQuota(limit, reason, true);
    throw reason;
  }
}

function toQuota(limit: number, { remainingPoints, msBeforeNext }: RateLimiterRes, isOver: boolean): Quota {
  return { limit, remaining: remainingPoints, resetAt: new Date(Date.now() + msBeforeNext), isOver };
}
