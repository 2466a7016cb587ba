import pg from "pg";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { openDatabase } from "../../../src/db/open.ts";
import { createServerDatabase } from "../../support/servers/database.ts";
import { until } from "../../support/until.ts";

const server = inject("postgresUrl");
const POOL_SIZE = 4;

describe.skipIf(!server)("a database that was read-only and accepts writes again", () => {
  test("is written to by transactions and statements without any readiness check", async () => {
    const url = await createServerDatabase();
    const name = new URL(url).pathname.slice(1);
    const database = await openDatabase({ kind: "server", url, poolSize: POOL_SIZE });
    const admin = new pg.Client(server);
    await admin.connect();
    onTestFinished(async () => {
      await database.close();
      await admin.end();
    });
    const setReadOnly = (value: "on" | "off") =>
      admin.query(`alter database ${name} set default_transaction_read_only = ${value}`);
    const endSessions = () =>
      admin.query("select pg_terminate_backend(pid) from pg_stat_activity where datname = $1", [name]);
    const write = "update account set held = held";
    /** As many concurrent transactions as there are connections, each of which writes when all have begun. */
    const writeTogether = () => {
      const begun = Promise.withResolvers<void>();
      let waiting = POOL_SIZE;
      const arrive = () => {
        if (--waiting === 0) begun.resolve();
      };
      const all = Array.from({ length: POOL_SIZE }, async () => {
        let hasArrived = false;
        const end = database.transaction(async (tx) => {
          await tx.rows("select 1");
          hasArrived = true;
          arrive();
          await begun.promise;
          await tx.rows(write);
        });
        return end.finally(() => hasArrived || arrive());
      });
      return Promise.allSettled(all).then((ends) => ends.map(({ status }) => status));
    };
    expect(await writeTogether()).toEqual(Array(POOL_SIZE).fill("fulfilled"));

    await setReadOnly("on");
    await endSessions();
    await until(async () => (await writeTogether()).every((status) => status === "rejected"));
    await expect(database.transaction((tx) => tx.rows(write))).rejects.toMatchObject({ code: "unavailable" });

    // Existing sessions stay read-only.
    await setReadOnly("off");
    await until(async () => (await writeTogether()).every((status) => status === "fulfilled"));
    await database.rows(write);
  });
});
