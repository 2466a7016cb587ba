// @module-tag medium
import { expect, onTestFinished, test } from "vitest";
import type { Database } from "../../src/db/database.ts";
import { type Clock, systemClock } from "../../src/kernel/clock.ts";
import { createLogger } from "../../src/kernel/log.ts";
import type { Principal } from "../../src/keys/auth/principal.ts";
import { trustedProxies } from "../../src/keys/auth/source-address.ts";
import { ManagementKeyService } from "../../src/keys/management-keys/management-key.service.ts";
import { KeyUseService } from "../../src/keys/shared/key-use.service.ts";
import { seedAccount } from "../support/seed.ts";
import { describeDatabases, openTestDatabase } from "../support/servers/database.ts";

type Used = { readonly last_used_at: Date | string | null; readonly last_source_ip?: string | null };

/** A clock whose monotonic time is advanced by hand. */
function handClock(): Clock & { forward(ms: number): void } {
  let nowMs = 1_000;
  return {
    now: systemClock.now,
    monotonicMs: () => nowMs,
    forward: (ms) => {
      nowMs += ms;
    },
  };
}

describeDatabases("the last use of a key", (kind) => {
  async function open() {
    const database = await openTestDatabase(kind);
    const { account, keyId } = await seedAccount(database, 0n);
    const managementKeys = new ManagementKeyService({ database, clock: systemClock, committed: () => {} });
    const { key } = await managementKeys.create(account, "audit", ["keys:read"]);
    const apiKey: Principal = { kind: "api-key", account, keyId };
    const managementKey: Principal = { kind: "management-key", account, keyId: key.id, scopes: key.scopes };
    return { database, apiKey, managementKey, counted: await countUpdates(database) };
  }

  function keyUse(database: Database, clock: Clock = systemClock): KeyUseService {
    const log = createLogger("silent");
    return new KeyUseService({ database, clock, log, trusted: trustedProxies(["10.0.0.0/8"]) });
  }

  const useOf = async (database: Database, principal: Principal): Promise<Used> => {
    const table = principal.kind === "api-key" ? "api_key" : "management_key";
    const id = "keyId" in principal ? principal.keyId : "";
    const [row] = await database.rows<Used>(`select * from ${table} where id = $1::uuid`, [id]);
    if (!row) throw new Error("there is no such key");
    return row;
  };

  const hop = (peer: string, forwardedFor?: string) => ({ peer, forwardedFor });

  test("is recorded with the source address in its canonical spelling", async () => {
    const { database, managementKey, apiKey } = await open();
    const service = keyUse(database);
    expect(await useOf(database, managementKey)).toMatchObject({ last_used_at: null, last_source_ip: null });
    service.record(managementKey, hop("::ffff:203.0.113.9", "6.6.6.6"));
    service.record(apiKey, hop("203.0.113.9"));
    await service.drain();
    expect(await useOf(database, managementKey)).toMatchObject({
      last_used_at: expect.anything(),
      last_source_ip: "203.0.113.9",
    });
    expect(await useOf(database, apiKey)).toMatchObject({ last_used_at: expect.anything() });
  });

  test("is recorded once in 60 s for 100 parallel calls, in each of two processes", async () => {
    const { database, managementKey, counted } = await open();
    const [one, other] = [keyUse(database), keyUse(database)];
    for (let at = 0; at < 100; at++) {
      one.record(managementKey, hop(`203.0.113.${at}`));
      other.record(managementKey, hop(`198.51.100.${at}`));
    }
    await Promise.all([one.drain(), other.drain()]);
    const { last_used_at } = await useOf(database, managementKey);
    expect(await counted()).toBe(1);
    one.record(managementKey, hop("203.0.113.200"));
    await one.drain();
    expect((await useOf(database, managementKey)).last_used_at).toEqual(last_used_at);
  });

  test("is recorded again after 60 s, by both the database clock and the process clock", async () => {
    const { database, managementKey, counted } = await open();
    const clock = handClock();
    const service = keyUse(database, clock);
    service.record(managementKey, hop("203.0.113.1"));
    await service.drain();
    clock.forward(60_501);
    service.record(managementKey, hop("203.0.113.2"));
    await service.drain();
    expect(await counted()).toBe(1);
    await database.rows("update management_key set last_used_at = now() - interval '60 seconds'");
    clock.forward(30_000);
    service.record(managementKey, hop("203.0.113.3"));
    await service.drain();
    expect((await useOf(database, managementKey)).last_source_ip).toBe("203.0.113.1");
    clock.forward(30_501);
    service.record(managementKey, hop("10.0.0.1", "6.6.6.6, 203.0.113.4"));
    await service.drain();
    expect((await useOf(database, managementKey)).last_source_ip).toBe("203.0.113.4");
  });

  test("is not recorded for sessions and anonymous calls, and a lost socket keeps the known address", async () => {
    const { database, managementKey } = await open();
    const service = keyUse(database);
    service.record({ kind: "anonymous" }, hop("203.0.113.1"));
    service.record({ kind: "wallet-session", account: "0x", sessionId: "x" }, hop("203.0.113.1"));
    await service.drain();
    expect((await useOf(database, managementKey)).last_used_at).toBeNull();
    service.record(managementKey, hop("203.0.113.5"));
    await service.drain();
    await database.rows("update management_key set last_used_at = now() - interval '2 minutes'");
    const later = keyUse(database);
    later.record(managementKey, { peer: undefined, forwardedFor: undefined });
    await later.drain();
    expect((await useOf(database, managementKey)).last_source_ip).toBe("203.0.113.5");
  });

  test("is retried when it could not be recorded", async () => {
    const { database, managementKey } = await open();
    let fails = true;
    const failing = Object.create(database, {
      rows: {
        value: (sql: string, parameters: readonly unknown[]) =>
          fails ? Promise.reject(new Error("gone")) : database.rows(sql, parameters),
      },
    }) as Database;
    const service = keyUse(failing);
    service.record(managementKey, hop("203.0.113.6"));
    await service.drain();
    fails = false;
    service.record(managementKey, hop("203.0.113.6"));
    await service.drain();
    expect((await useOf(database, managementKey)).last_source_ip).toBe("203.0.113.6");
  });

  test("a name given to ten keys at once is accepted for one", async () => {
    const database = await openTestDatabase(kind);
    const { account } = await seedAccount(database, 0n);
    const service = new ManagementKeyService({ database, clock: systemClock, committed: () => {} });
    const made = await Promise.allSettled(
      Array.from({ length: 10 }, () => service.create(account, "ci", [])),
    );
    expect(made.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    for (const result of made)
      if (result.status === "rejected") expect(result.reason).toMatchObject({ code: "duplicate_name" });
  });
});

/** Counts changes of rows of `management_key` from here on, in the database itself. */
async function countUpdates(database: Database): Promise<() => Promise<number>> {
  await database.rows("create table seen_update (at timestamptz)");
  await database.rows(`create function see_update() returns trigger language plpgsql as
    'begin insert into seen_update values (now()); return new; end'`);
  await database.rows(
    "create trigger see_update after update on management_key for each row execute function see_update()",
  );
  onTestFinished(async () => {
    await database.rows("drop function see_update cascade");
    await database.rows("drop table seen_update");
  });
  return async () => (await database.rows("select 1 from seen_update")).length;
}
