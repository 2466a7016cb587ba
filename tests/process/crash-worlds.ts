import { inject, type TestContext } from "vitest";
import { type CrashWorld, openCrashWorld } from "../crash/world.ts";
import { startNetwork } from "../support/chain/network.ts";
import { createServerDatabase, type OnEnd } from "../support/servers/database.ts";
import { useStarted } from "../support/stack.ts";

/** The databases on which processes are killed. */
export type CrashDatabase = "PGlite" | "PostgreSQL";

/** A process on each database, which all use one chain. */
export type CrashWorlds = {
  readonly rpcUrl: string;
  readonly onEnd: OnEnd;
  /** The world of a database. Skips the test when there is no PostgreSQL server. */
  of(name: CrashDatabase, skip: TestContext["skip"]): CrashWorld;
};

/** Starts a process on each database before the tests of a file and ends it after them. */
export function useCrashWorlds(): () => CrashWorlds {
  return useStarted(async (onEnd) => {
    const { rpcUrl } = await startNetwork(onEnd);
    const start = async (name: CrashDatabase, serverUrl?: string) => {
      const world = await openCrashWorld({ name, ...(serverUrl && { serverUrl }) }, rpcUrl, onEnd);
      await world.start();
      return world;
    };
    const serverUrl = inject("postgresUrl") && (await createServerDatabase(onEnd));
    const [embedded, server] = await Promise.all([
      start("PGlite"),
      serverUrl ? start("PostgreSQL", serverUrl) : undefined,
    ]);
    const worlds = { PGlite: embedded, PostgreSQL: server };
    return {
      ...{ rpcUrl, onEnd },
      of: (name, skip) => worlds[name] ?? skip("there is no PostgreSQL server on this machine"),
    };
  });
}
