import { RateLimiterRedis } from "rate-limiter-flexible";
import { type RedisConnection, within } from "../../events/redis-connection.ts";
import { MemoryRateLimit, quotaOf } from "./rate-limit.memory.ts";
import { type Quota, type RateLimit, WINDOW_SECONDS } from "./rate-limit.ts";

const PATIENCE_MS = 250;
const REST_MS = 2_000;

/**
 * Counts in Redis, for all processes together. While Redis does not answer within 250 ms, this process counts by
 * itself and asks again after 2 s: a request never fails, and hardly waits, because Redis is gone (promise F38).
 */
export class RedisRateLimit implements RateLimit {
  readonly #limiter: RateLimiterRedis;
  readonly #insurance: MemoryRateLimit;
  #restUntilMs = 0;

  /** At most `limit` requests per window for each subject; `name` tells the limits in one Redis apart. */
  constructor(redis: RedisConnection, name: string, limit: number) {
    this.#limiter = new RateLimiterRedis({
      storeClient: redis,
      useRedisPackage: true,
      rejectIfRedisNotReady: true,
      keyPrefix: `zerograph:rate:${name}`,
      points: limit,
      duration: WINDOW_SECONDS,
      inMemoryBlockOnConsumed: limit,
    });
    this.#insurance = new MemoryRateLimit(limit);
  }

  async take(subject: string, requests = 1): Promise<Quota> {
    if (performance.now() < this.#restUntilMs) return this.#insurance.take(subject, requests);
    try {
      return await within(
        PATIENCE_MS,
        quotaOf(this.#limiter.points, this.#limiter.consume(subject, requests)),
      );
    } catch {
      this.#restUntilMs = performance.now() + REST_MS;
      return this.#insurance.take(subject, requests);
    }
  }
}
