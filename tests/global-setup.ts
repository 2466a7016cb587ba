import type { TestProject } from "vitest/node";
import { guardRun } from "./support/run/guard-run.ts";
import { startPostgres } from "./support/servers/postgres.ts";
import { startRedis } from "./support/servers/redis.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Whether large tests are among those that run. */
    runs: "all" | "without large";
    redisUrl: string | undefined;
    postgresUrl: string | undefined;
  }
}

/**
 * Starts PostgreSQL and Redis, side by side, for all test files. Without one, what needs it is skipped aloud. Whatever
 * the run starts is ended with it, also when it is aborted.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  // Every client of PostgreSQL would read them, here and in the workers, which inherit this environment.
  for (const name of Object.keys(process.env)) if (name.startsWith("PG")) delete process.env[name];
  const run = guardRun();
  const started = await Promise.allSettled([startPostgres(), startRedis()]);
  const [postgres, redis] = started;
  const stop = async () => {
    await Promise.all(started.map((server) => server.status === "fulfilled" && server.value.stop()));
    await run.end();
  };
  try {
    project.provide(
      "postgresUrl",
      postgres.status === "fulfilled" ? postgres.value.url : skip("PostgreSQL", postgres),
    );
    project.provide("redisUrl", redis.status === "fulfilled" ? redis.value.url : skip("Redis", redis));
  } catch (error) {
    await stop();
    throw error;
  }
  return stop;
}

function skip(what: string, { reason }: PromiseRejectedResult): undefined {
  const text = `!! Tests that need ${what} are SKIPPED: ${String(reason).replaceAll(/\s+/g, " ").slice(-300)}`;
  if (process.env.REQUIRE_ALL) throw new Error(text);
  console.warn(text);
}
