import type { TestProject } from "vitest/node";
import { startPostgres } from "./support/postgres.ts";
import { startRedis } from "./support/redis.ts";

declare module "vitest" {
  interface ProvidedContext {
    redisUrl: string | undefined;
    postgresUrl: string | undefined;
  }
}

/** Starts PostgreSQL and Redis, side by side, for all test files. Without one, what needs it is skipped aloud. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const [postgres, redis] = await Promise.all([
    startPostgres().catch((error: unknown) => skip("PostgreSQL", error)),
    startRedis().catch((error: unknown) => skip("Redis", error)),
  ]);
  project.provide("postgresUrl", postgres?.url);
  project.provide("redisUrl", redis?.url);
  return async () => void (await Promise.all([postgres?.stop(), redis?.stop()]));
}

function skip(what: string, why: unknown): undefined {
  const text = `!! Tests that need ${what} are SKIPPED: ${String(why).replaceAll(/\s+/g, " ").slice(-300)}`;
  if (process.env.REQUIRE_ALL) throw new Error(text);
  console.warn(text);
}
