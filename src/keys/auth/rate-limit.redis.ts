import { RateLimiterRedis } from "rate-limiter-flexible";
import { isReplicaRefusal, type RedisConnection } from "../../events/redis-connection.ts";
import { within } from "../../kernel/async/within.ts";
import { type Clock, systemClock } from "../../kernel/clock.ts";
import { MemoryRateLimit, quotaOf } from "./rate-limit.memory.ts";
import { type Quota, type RateLimit, WINDOW_SECONDS } from "./rate-limit.ts";

const TIMEOUT_MS = 250;
const RETRY_AFTER_MS = 2_000;

/**
 * Counts requests in Redis, across all processes. If Redis does not respond within 250 ms, this process counts by
 * itself and tries Redis again after 2 s: an outage of Redis never fails a request, and hardly delays one (promise
 * F38).
 */
export class RedisRateLimit implements RateLimit {
  readonly #redis: RedisConnection;
  readonly #limiter: RateLimiterRedis;
  readonly #fallback: MemoryRateLimit;
  readonly #timeoutMs: number;
  readonly #clock: Pick<Clock, "now">;
  #retryAtMs = 0;

  /** At most `limit` requests per window for each subject; `name` distinguishes the limits in one Redis. */
  constructor(
    redis: RedisConnection,
    name: string,
    limit: number,
    {
      clock = systemClock,
      timeoutMs = TIMEOUT_MS,
    }: { readonly clock?: Pick<Clock, "now">; readonly timeoutMs?: number } = {},
  ) {
    this.#redis = redis;
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
    this.#limiter = new RateLimiterRedis({
      storeClient: redis,
      useRedisPackage: true,
      rejectIfRedisNotReady: true,
      keyPrefix: `zerograph:rate:${name}`,
      points: limit,
      duration: WINDOW_SECONDS,
      inMemoryBlockOnConsumed: limit,
    });
    this.#fallback = new MemoryRateLimit(limit, clock);
  }

  async take(subject: string, requests = 1): Promise<Quota> {
    if (performance.now() < this.#retryAtMs) return this.#fallback.take(subject, requests);
    try {
      return await within(
        this.#timeoutMs,
        quotaOf(this.#limiter.points, this.#limiter.consume(subject, requests), this.#clock),
      );
    } catch (error) {
      if (isReplicaRefusal(error)) this.#redis.reopen?.();
      this.#retryAtMs = performance.now() + RETRY_AFTER_MS;
      return this.#fallback.take(subject, requests);
    }
  }
}
