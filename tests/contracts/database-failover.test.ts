// @module-tag large
import { describe, expect, inject, onTestFinished, test } from "vitest";
import type { Database } from "../../src/db/database.ts";
import { openDatabase } from "../../src/db/open.ts";
import { MemoryBus } from "../../src/events/bus.memory.ts";
import { appendEvents } from "../../src/events/outbox.ts";
import { EventRelay } from "../../src/events/relay.ts";
import { createLogger } from "../../src/kernel/log.ts";
import { collect, fileEvent, noteOf } from "../support/events.ts";
import { scaled } from "../support/machine.ts";
import { makeCertificates } from "../support/servers/certificates.ts";
import { startPausableProxy } from "../support/servers/pausable-proxy.ts";
import { freePort, startPostgres } from "../support/servers/postgres.ts";
import { newFolder } from "../support/servers/process.ts";
import { startReplicatedPostgres } from "../support/servers/replicated-postgres.ts";
import { until } from "../support/until.ts";

const WRITE = "insert into written values ($1::int)";
const PORT = "select inet_server_port() as port";

describe.skipIf(!inject("postgresUrl"))("several hosts in DATABASE_URL", () => {
  test("connections lead to the one that accepts writes, wherever it is in the list", async () => {
    const { primary, standby } = await startReplicatedPostgres(onTestFinished);
    const closed = await freePort();
    const database = await open([closed, standby.port, primary.port]);
    const isPrimary = [{ port: primary.port }];
    expect(await database.rows(PORT)).toEqual(isPrimary);
    expect(await database.transaction((tx) => tx.rows(PORT))).toEqual(isPrimary);
    expect(await database.reads.rows("account", { text: PORT, values: [] })).toEqual(isPrimary);
    expect(await database.isReadOnly()).toBe(false);
    await expect(open([standby.port, closed])).rejects.toThrow(
      new RegExp(
        `^DATABASE_URL: 127\\.0\\.0\\.1:${standby.port},127\\.0\\.0\\.1:${closed}/postgres cannot be used \\(a standby\\)`,
      ),
    );
  });

  test("after a failover writes go to the promoted standby, and no longer to the old primary", async () => {
    const { primary, standby, promote } = await startReplicatedPostgres(onTestFinished, {
      synchronous: true,
    });
    const database = await open([primary.port, standby.port]);
    const idle = await open([primary.port, standby.port]);
    await database.rows("create table written (n int)");
    await database.rows(WRITE, [1]);
    await primary.end("SIGQUIT");
    await expect(database.rows(WRITE, [2])).rejects.toMatchObject({ code: "unavailable" });
    await until(async () => expect(await database.isReadOnly().catch(() => false)).toBe(true));
    await promote();
    await until(() => database.rows(WRITE, [3]));
    // It accepts writes, as it does not know that it was replaced.
    await primary.restart();
    const later = await open([primary.port, standby.port]);
    await Promise.all(Array.from({ length: 8 }, (_, n) => (n < 4 ? later : idle).rows(WRITE, [4 + n])));
    expect(await idle.rows(PORT)).toEqual([{ port: standby.port }]);
    expect(await primary.rows("select n from written")).toEqual([{ n: 1 }]);
    expect(await database.rows("select n from written order by n")).toEqual(
      [1, ...Array.from({ length: 9 }, (_, n) => 3 + n)].map((n) => ({ n })),
    );
    // Only the old one is left: nothing is written rather than twice.
    await standby.end("SIGQUIT");
    await expect(database.rows(WRITE, [12])).rejects.toMatchObject({ code: "unavailable" });
    await expect(later.rows(WRITE, [12])).rejects.toMatchObject({ code: "unavailable" });
  });

  test("connections to a primary that hangs are given up when another host was promoted", async () => {
    const { primary, standby, promote } = await startReplicatedPostgres(onTestFinished);
    const proxy = await startPausableProxy(primary.port);
    onTestFinished(() => proxy.close());
    const database = await open([proxy.port, standby.port]);
    await database.rows("create table written (n int)");
    await until(() => standby.rows("select from written"));
    proxy.pause();
    const since = performance.now();
    const work = Array.from({ length: 8 }, () => database.rows(WRITE, [1]));
    const ends = await Promise.allSettled(work);
    expect(performance.now() - since).toBeLessThan(scaled(5_000));
    expect(ends.map((end) => end.status === "rejected" && end.reason.code)).toEqual(
      Array(8).fill("unavailable"),
    );
    await promote();
    const promotedAt = performance.now();
    await until(() => database.rows(WRITE, [2]));
    expect(performance.now() - promotedAt).toBeLessThan(scaled(5_000));
    expect(await database.rows("select n from written")).toEqual([{ n: 2 }]);
  });

  test("events of a promoted standby that lacks the newest positions reach readers, also when no publishing failed", async () => {
    const { primary, standby, promote } = await startReplicatedPostgres(onTestFinished);
    const database = await open([primary.port, standby.port]);
    const bus = new MemoryBus();
    const relay = new EventRelay(database, bus, createLogger("silent"));
    const events = collect(await bus.subscribe({ topic: "file.submitted" }));
    const write = async (note: string) => {
      await database.transaction((tx) => appendEvents(tx, [fileEvent("0xaa", note)]));
      await relay.publishBatch();
    };
    for (const note of ["1", "2", "3"]) await write(note);
    await until(() => standby.rows("select 1 from outbox where position = 3"));
    await primary.end("SIGQUIT");
    await promote();
    await until(() => standby.rows("select setval('outbox_position', 1)"));
    await until(() => database.rows("create table written (n int)"));
    await write("4");
    await until(() => expect(events.map(noteOf)).toEqual(["1", "2", "3", "4"]));
  });

  test("each host is verified by its own name", async () => {
    const files = makeCertificates(newFolder(), "localhost");
    const server = await startPostgres(files.server);
    onTestFinished(() => server.stop());
    const { port } = new URL(server.url);
    const url = (hosts: string) =>
      `postgresql://postgres@${hosts}/postgres?sslmode=verify-full&sslrootcert=${files.authority}`;
    const database = await openUrl(url(`127.0.0.1:${port},localhost:${port}`));
    expect(await database.rows("select ssl from pg_stat_ssl where pid = pg_backend_pid()")).toEqual([
      { ssl: true },
    ]);
    await expect(openUrl(url(`127.0.0.1:${port},127.0.0.1:${port}`))).rejects.toThrow(
      /IP: 127\.0\.0\.1 is not/,
    );
  });
});

function open(ports: readonly number[]): Promise<Database> {
  return openUrl(`postgresql://postgres@${ports.map((port) => `127.0.0.1:${port}`)}/postgres`);
}

async function openUrl(url: string): Promise<Database> {
  const database = await openDatabase({ kind: "server", url, poolSize: 4 });
  onTestFinished(() => database.close());
  return database;
}
