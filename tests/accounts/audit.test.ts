// @module-tag medium
import { createClient } from "redis";
import { describe, expect, test } from "vitest";
import { newSecret } from "../../src/keys/auth/secret.ts";
import { auditDatabase, auditRedis, requireNoSecret } from "../support/audit.ts";
import { seedAccount } from "../support/seed.ts";
import { describeDatabases, openTestDatabase } from "../support/servers/database.ts";
import { startRedis } from "../support/servers/redis.ts";

describeDatabases("the audit that every test ends with", (kind) => {
  test("a secret in any row is found, with its prefix or without", async () => {
    const database = await openTestDatabase(kind);
    const { account, keyId, secret } = await seedAccount(database, 7n);
    await auditDatabase(database);
    for (const text of [secret, secret.slice(3), `Bearer ${secret}`]) {
      await database.rows("update api_key set preview = $1::text where id = $2::uuid", [text, keyId]);
      await expect(auditDatabase(database)).rejects.toThrow("secret in the table api_key");
    }
    await database.rows("update api_key set preview = 'x' where id = $1::uuid", [keyId]);
    await database.rows("update account set deposit = deposit + 1 where address = $1::text", [account]);
    await expect(auditDatabase(database)).rejects.toThrow("inconsistent ledger");
    await database.rows("update account set deposit = deposit - 1 where address = $1::text", [account]);
  });
});

describe("texts", () => {
  test("a secret is distinguished from texts that only resemble one", () => {
    const secret = newSecret("mk-");
    expect(() => requireNoSecret(`x ${secret} y`, "here")).toThrow("secret in here");
    expect(() =>
      requireNoSecret(`x ${secret.slice(0, -1)}${secret.endsWith("0") ? "1" : "0"} y`, "here"),
    ).not.toThrow();
    expect(() => requireNoSecret(`${secret.slice(0, 8)}…`, "here")).not.toThrow();
  });

  test("a secret is found in Redis, as a key and as a value", async () => {
    const redis = await startRedis({ audit: false });
    const client = createClient({ url: redis.url });
    await client.connect();
    await client.xAdd("events", "*", { data: "nothing" });
    await auditRedis(client);
    await client.hSet("one", "field", newSecret("sk-"));
    await expect(auditRedis(client)).rejects.toThrow("secret in Redis, under one");
    await client.flushAll();
    await client.set(newSecret("ws-"), "1");
    await expect(auditRedis(client)).rejects.toThrow("secret in Redis");
    client.destroy();
    await redis.stop();
  });
});
