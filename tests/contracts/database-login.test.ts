// @module-tag large
import { writeFileSync } from "node:fs";
import pg from "pg";
import { describe, expect, inject, test } from "vitest";
import { seedAccount } from "../support/seed.ts";
import { startPostgres } from "../support/servers/postgres.ts";
import { useStack } from "../support/stack.ts";
import { until } from "../support/until.ts";

const PASSWORD = "p1-of-the-login";
const OPEN = "host all all 127.0.0.1/32 trust\n";
const WITH_PASSWORD = `host all p1 127.0.0.1/32 scram-sha-256\n${OPEN}`;

describe.skipIf(!inject("postgresUrl"))("a server that no longer accepts the login", () => {
  let admin: (sql: string) => Promise<readonly Record<string, string>[]>;
  let rules = "";
  const stack = useStack(async (onEnd) => {
    const server = await startPostgres();
    onEnd(() => server.stop());
    const client = new pg.Client({ connectionString: server.url });
    await client.connect();
    onEnd(() => client.end());
    admin = async (sql) => (await client.query(sql)).rows;
    await admin(`create role p1 login superuser password '${PASSWORD}'`);
    await admin("create database product owner p1");
    rules = (await admin("show hba_file"))[0]?.hba_file ?? "";
    await setRules(WITH_PASSWORD);
    const url = new URL(server.url);
    return { DATABASE_URL: `postgresql://p1:${PASSWORD}@${url.host}/product` };
  });

  async function setRules(text: string): Promise<void> {
    writeFileSync(rules, text);
    await admin("select pg_reload_conf()");
    const wanted = text.trim().split("\n").length;
    await until(async () => {
      const [found] = await admin(
        "select count(*)::text as n, bool_or(auth_method = 'reject')::text as r from pg_hba_file_rules",
      );
      return found?.n === String(wanted) && found.r === String(text.includes("reject"));
    });
  }

  const cut = () => admin("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'p1'");

  test.each([
    [
      "another password",
      () => admin("alter role p1 password 'p2'"),
      () => admin(`alter role p1 password '${PASSWORD}'`),
      /password authentication failed for user "p1" \(28P01\)/,
    ],
    [
      "a role that may not log in",
      () => admin("alter role p1 nologin"),
      () => admin("alter role p1 login"),
      /not permitted to log in \(28000\)/,
    ],
    [
      "rules that reject it",
      () => setRules(`host product p1 127.0.0.1/32 reject\n${WITH_PASSWORD}`),
      () => setRules(WITH_PASSWORD),
      /pg_hba\.conf rejects connection.*\(28000\)/,
    ],
    [
      "a database that does not accept connections",
      () => admin("alter database product allow_connections false"),
      () => admin("alter database product allow_connections true"),
      /not currently accepting connections \(55000\)/,
    ],
    [
      "a database of another name",
      async () => {
        await admin("alter database product allow_connections false");
        await until(async () => {
          await cut();
          return admin("alter database product rename to elsewhere");
        });
      },
      async () => {
        await admin("alter database elsewhere rename to product");
        await admin("alter database product allow_connections true");
      },
      /database "product" does not exist \(3D000\)/,
    ],
  ])(
    "has %s: requests are answered 503 with Retry-After, the log says why, and they succeed afterwards",
    async (_, refuse, accept, why) => {
      const { app, origin, logged } = stack();
      const { account } = await seedAccount(app.database, 10n ** 18n);
      const { secret } = await app.managementKeys.create(account, "reader", ["account:read"]);
      const authorization = `Bearer ${secret}`;
      const balance = () => fetch(`${origin}/v1/account/balance`, { headers: { authorization } });
      const graph = () =>
        fetch(`${origin}/graphql`, {
          method: "POST",
          headers: { authorization, "content-type": "application/json" },
          body: JSON.stringify({ query: "{ viewer { account { balance { available } } } }" }),
        });
      expect((await balance()).status).toBe(200);
      const before = logged().length;
      await refuse();
      try {
        await until(async () => {
          await cut();
          expect((await balance()).status).not.toBe(200);
        });
        const reply = await balance();
        expect([reply.status, await reply.json()]).toEqual([
          503,
          expect.objectContaining({ error: expect.objectContaining({ code: "unavailable" }) }),
        ]);
        expect(reply.headers.get("retry-after")).toMatch(/^\d+$/);
        expect(await (await graph()).text()).toContain('"unavailable"');
        await expect(app.database.transaction((tx) => tx.rows("select 1"))).rejects.toMatchObject({
          code: "unavailable",
        });
        await until(() => expect(logged().slice(before).replaceAll("\\", "")).toMatch(why));
      } finally {
        await accept();
      }
      await until(async () => expect((await balance()).status).toBe(200));
      const lines = logged().slice(before);
      expect(lines).not.toContain(PASSWORD);
      expect(lines.split("\n").filter((line) => line.includes("internal_error"))).toEqual([]);
    },
  );
});
