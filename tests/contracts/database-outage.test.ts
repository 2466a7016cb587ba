// @module-tag large
import { describe, expect, inject, onTestFinished, test } from "vitest";
import type { Database } from "../../src/db/database.ts";
import { openDatabase } from "../../src/db/open.ts";
import { scaled } from "../support/machine.ts";
import { createServerDatabase } from "../support/servers/database.ts";
import { type PausableProxy, startPausableProxy } from "../support/servers/pausable-proxy.ts";
import { until } from "../support/until.ts";

describe.skipIf(!inject("postgresUrl"))("database: PostgreSQL outage", () => {
  test("statements and transactions on a hanging server end within 5 s as unavailable, later ones at once", async () => {
    const { database, proxy } = await start();
    await database.ping();
    proxy.pause();
    const since = performance.now();
    const work = [
      database.ping(),
      database.transaction(async (tx) => tx.rows("select 1")),
      ...Array.from({ length: 6 }, () => database.rows("select 2")),
    ];
    const results = await Promise.allSettled(work);
    expect(performance.now() - since).toBeLessThan(scaled(5_000));
    expect(results.map((result) => result.status === "rejected" && result.reason.code)).toEqual(
      Array(8).fill("unavailable"),
    );
    const again = performance.now();
    await expect(database.ping()).rejects.toMatchObject({ code: "unavailable" });
    // Not the 5 s of the first.
    expect(performance.now() - again).toBeLessThan(scaled(1_000));
    proxy.resume();
    await until(() => database.ping());
    // As many connections as before: none was lost in the outage.
    const all = Array.from({ length: 4 }, () => database.rows("select 3"));
    expect(await Promise.all(all)).toHaveLength(4);
  });

  test("while a process starts, a server may need longer to respond than later", async () => {
    const { database, proxy } = await start(1, { hangsMs: 5_500 });
    await database.ping();
    proxy.pause();
    const since = performance.now();
    await expect(database.ping()).rejects.toMatchObject({ code: "unavailable" });
    expect(performance.now() - since).toBeLessThan(scaled(5_000));
    proxy.resume();
  });

  test("a slow statement is not an outage", async () => {
    const { database } = await start();
    const slow = await database.rows<{ done: boolean }>("select pg_sleep(3.5) is not null as done");
    expect(slow).toEqual([{ done: true }]);
  });

  test("a killed server is unavailable at once; the pool connection of a transaction is free again", async () => {
    const { database, proxy } = await start(2);
    const { promise: isCut, resolve: cut } = Promise.withResolvers<void>();
    let began = 0;
    const open = [1, 2].map(() =>
      database
        .transaction(async (tx) => {
          await tx.rows("select 1");
          began += 1;
          await isCut;
          return tx.rows("select 2");
        })
        .catch(({ code }) => code),
    );
    await until(() => began === 2);
    await proxy.cut();
    cut();
    expect(await Promise.all(open)).toEqual(["unavailable", "unavailable"]);
    await expect(database.ping()).rejects.toMatchObject({ code: "unavailable" });
    await proxy.open();
    await until(() => database.ping());
  });

  test("a statement that was aborted in favour of another is run again", async () => {
    const { database } = await start();
    await database.rows("create table counter (id int primary key, n int not null)");
    await database.rows("insert into counter values (1, 0), (2, 0)");
    const crossing = `with one as (update counter set n = n + 1 where id = $1::int returning pg_sleep(0.05))
      , two as (select pg_sleep(0.05) from one)
      update counter set n = n + 1 where id = $2::int and exists (select from two)`;
    await Promise.all([database.rows(crossing, [1, 2]), database.rows(crossing, [2, 1])]);
    expect(await database.rows("select id, n from counter order by id")).toEqual([
      { id: 1, n: 2 },
      { id: 2, n: 2 },
    ]);
  });

  /** A database behind a proxy that hangs for `hangsMs` at first. */
  async function start(
    poolSize = 4,
    { hangsMs = 0 } = {},
  ): Promise<{ database: Database; proxy: PausableProxy }> {
    const url = new URL(await createServerDatabase());
    const proxy = await startPausableProxy(Number(url.port));
    onTestFinished(() => proxy.close());
    url.port = String(proxy.port);
    if (hangsMs > 0) {
      proxy.pause();
      setTimeout(() => proxy.resume(), hangsMs);
    }
    const database = await openDatabase({ kind: "server", url: url.href, poolSize });
    onTestFinished(() => database.close());
    return { database, proxy };
  }
});
