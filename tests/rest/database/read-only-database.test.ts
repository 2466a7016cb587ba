import pg from "pg";
import { describe, expect, inject, test } from "vitest";
import { MODEL } from "../../support/chain/network.ts";
import { rest } from "../../support/clients/rest-client.ts";
import { seedAccount } from "../../support/seed.ts";
import { useStack } from "../../support/stack.ts";
import { until } from "../../support/until.ts";

const server = inject("postgresUrl");

describe.skipIf(!server)("a database that becomes read-only, as after a failover", () => {
  const stack = useStack({}, "server");

  /** Makes new sessions read-only or writable, and closes existing ones. */
  async function setReadOnly(value: "on" | "off", { endSessions }: { endSessions: boolean }) {
    const [row] = await stack().app.database.rows<{ name: string }>("select current_database() as name");
    const admin = new pg.Client(server);
    await admin.connect();
    await admin.query(`alter database ${row?.name} set default_transaction_read_only = ${value}`);
    if (endSessions)
      await admin.query("select pg_terminate_backend(pid) from pg_stat_activity where datname = $1", [
        row?.name,
      ]);
    await admin.end();
  }

  test("requests are answered unavailable and the process is not ready until the database is writable again", async () => {
    const { secret } = await seedAccount(stack().app.database, 10n ** 18n);
    const chat = () =>
      rest<{ error?: { code: string } }>(stack().origin, "/v1/chat/completions", secret, {
        body: { model: MODEL, messages: [{ role: "user", content: "The sea?" }] },
      });
    const ready = () => rest<{ parts: { database: string } }>(stack().origin, "/readyz");
    expect((await chat()).status).toBe(200);

    await setReadOnly("on", { endSessions: true });
    await until(async () => (await ready()).body.parts.database === "read-only");
    expect((await ready()).status).toBe(503);
    const { status, body } = await chat();
    expect([status, body.error?.code]).toEqual([503, "unavailable"]);

    // Existing sessions stay read-only, as those to a demoted primary do.
    await setReadOnly("off", { endSessions: false });
    await until(async () => (await ready()).status === 200);
    await until(async () => (await chat()).status === 200);
  });
});
