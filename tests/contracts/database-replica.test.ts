// @module-tag large
import { describe, expect, inject, onTestFinished, test } from "vitest";
import type { Database } from "../../src/db/database.ts";
import { openDatabase } from "../../src/db/open.ts";
import { startPausableProxy } from "../support/servers/pausable-proxy.ts";
import { startReplicatedPostgres } from "../support/servers/replicated-postgres.ts";
import { until } from "../support/until.ts";

const PORT = { text: "select inet_server_port() as port", values: [] };

describe.skipIf(!inject("postgresUrl"))("a replica for expensive reads", () => {
  test("is read from while it has not fallen behind, and nothing else is", async () => {
    const { servers, database } = await start();
    const { primary, standby } = servers;
    await untilReadFrom(database, standby.port);
    expect(database.replica?.state).toBe("ok");
    expect(database.replica?.lagSeconds).toBeLessThan(5);
    expect(await database.rows(PORT.text)).toEqual([{ port: primary.port }]);
    expect(await database.transaction((tx) => tx.rows(PORT.text))).toEqual([{ port: primary.port }]);

    await standby.rows("select pg_wal_replay_pause()");
    await database.rows("create table written (n int)");
    await untilReadFrom(database, primary.port);
    expect(database.replica?.state).toBe("behind");
    expect(await database.reads.rows("account", { text: "select from written", values: [] })).toEqual([]);
    await standby.rows("select pg_wal_replay_resume()");
    await untilReadFrom(database, standby.port);
  });

  test("that is killed or cut off costs no read, and is read from again when it is back", async () => {
    const { servers, database } = await start();
    const { primary, standby } = servers;
    await untilReadFrom(database, standby.port);
    const reads = Array.from({ length: 4 }, (_, n) =>
      database.reads.rows(`account ${n}`, { text: "select pg_sleep(1)", values: [] }),
    );
    await until(async () => {
      const active = "select from pg_stat_activity where state = 'active' and query = 'select pg_sleep(1)'";
      return (await standby.rows(active)).length > 0;
    });
    await standby.end("SIGQUIT");
    expect(await Promise.all(reads)).toHaveLength(4);
    expect(await readFrom(database)).toBe(primary.port);
    await until(() => database.replica?.state === "unreachable");
    expect(database.replica?.lagSeconds).toBeUndefined();
    await standby.restart();
    await untilReadFrom(database, standby.port);
  });

  test("that hangs costs no read", async () => {
    const servers = await startReplicatedPostgres(onTestFinished);
    const proxy = await startPausableProxy(servers.standby.port);
    onTestFinished(() => proxy.close());
    const database = await open(servers.primary.port, proxy.port);
    await untilReadFrom(database, servers.standby.port);
    proxy.pause();
    expect(await readFrom(database)).toBe(servers.primary.port);
    await until(() => database.replica?.state === "unreachable");
    proxy.resume();
    await untilReadFrom(database, servers.standby.port);
  });

  test("that does not exist prevents no start", async () => {
    const servers = await startReplicatedPostgres(onTestFinished);
    await servers.standby.end("SIGQUIT");
    const database = await open(servers.primary.port, servers.standby.port);
    expect(await readFrom(database)).toBe(servers.primary.port);
  });
});

async function start() {
  const servers = await startReplicatedPostgres(onTestFinished);
  return { servers, database: await open(servers.primary.port, servers.standby.port) };
}

async function open(port: number, replicaPort: number): Promise<Database> {
  const url = (at: number) => `postgresql://postgres@127.0.0.1:${at}/postgres`;
  const replica = { replicaUrl: url(replicaPort), maxReplicaLagMs: 5_000 };
  const database = await openDatabase({ kind: "server", url: url(port), poolSize: 4, ...replica });
  onTestFinished(() => database.close());
  return database;
}

async function readFrom(database: Database): Promise<number | undefined> {
  return (await database.reads.rows<{ port: number }>("account", PORT))[0]?.port;
}

async function untilReadFrom(database: Database, port: number): Promise<void> {
  await until(async () => (await readFrom(database)) === port);
}
