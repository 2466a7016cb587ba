import type { Config } from "./config.ts";
import type { Bus } from "./events/bus.ts";
import { redisAddress } from "./events/redis-address.ts";
import type { RedisConnection } from "./events/redis-connection.ts";
import { within } from "./kernel/async/within.ts";
import type { Logger } from "./kernel/log.ts";

/** How long the start of a process waits for the connection of the counters. */
const COUNTERS_MS = 2_000;

/** The database that this configuration selects. On a server, `statementTimeoutMs` may be overridden; 0 disables it. */
export function databaseOf(
  config: Config,
  {
    statementTimeoutMs = config.DATABASE_STATEMENT_TIMEOUT_MS,
    log,
  }: { readonly statementTimeoutMs?: number; readonly log?: Logger } = {},
) {
  if (config.DATABASE_URL)
    return {
      kind: "server",
      url: config.DATABASE_URL,
      poolSize: config.DATABASE_POOL_SIZE,
      readPoolSize: config.DATABASE_READ_POOL_SIZE,
      readTimeoutMs: config.DATABASE_READ_TIMEOUT_MS,
      replicaUrl: config.DATABASE_REPLICA_URL,
      maxReplicaLagMs: config.DATABASE_REPLICA_MAX_LAG_MS,
      statementTimeoutMs,
      pooler: config.DATABASE_POOLER,
      log,
    } as const;
  return { kind: "folder", path: config.DATA_DIR } as const;
}

/**
 * The bus on Redis, and the connection of the shared rate-limit counters, which may break and reconnect: requests are
 * served without it. The client is loaded here, as it is a sixth of the modules of a process.
 */
export async function openOnRedis(
  url: string,
  { REDIS_CA_FILE: caFile, REDIS_SENTINEL_PASSWORD: sentinelPassword }: Config,
  log: Logger,
): Promise<{ bus: Bus; redis?: RedisConnection }> {
  const [{ RedisBus }, { openRedis }] = await Promise.all([
    import("./events/bus.redis.ts"),
    import("./events/redis-connection.ts"),
  ]);
  const address = redisAddress(url, { caFile, sentinelPassword });
  const onError = (error: unknown) => log.debug({ err: error }, "requests are not counted in Redis now");
  const bus = await RedisBus.create(address, { log });
  const redis = openRedis(address, onError);
  // It may open later: until then, this process counts by itself.
  await within(COUNTERS_MS, redis.connect()).catch(onError);
  return { bus, redis };
}
