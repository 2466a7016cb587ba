// @module-tag large
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { LedgerService } from "../../src/accounts/ledger.service.ts";
import type { Database } from "../../src/db/database.ts";
import { startNetwork } from "../support/chain/network.ts";
import { scaled } from "../support/machine.ts";
import { PATIENT_PROVIDERS } from "../support/patient-providers.ts";
import { openPatiently } from "../support/servers/database.ts";
import { newFolder, type ReadyProcess, runProcess, startReady } from "../support/servers/process.ts";
import { startRedis } from "../support/servers/redis.ts";
import { type ReplicatedPostgres, startReplicatedPostgres } from "../support/servers/replicated-postgres.ts";
import { until } from "../support/until.ts";
import { chat } from "./chat.ts";
import { ResumingFollower } from "./split/resuming-follower.ts";
import { type Customer, newCustomer } from "./split/split-product.ts";

const skipped = !inject("postgresUrl") || !inject("redisUrl");
if (skipped) console.warn("!! Failover is NOT tested: this machine has no PostgreSQL or no Redis");

const FAILOVER_MS = 10_000;
const SETTLED = "select id from inference_request where status = 'completed'";
const SETTLEMENTS = `select event_id::text as id, position from outbox
  where topic = 'balance.changed' and data ->> 'cause' = 'settlement'`;

const ends: (() => Promise<void>)[] = [];
const onEnd = (end: () => Promise<void>) => void ends.unshift(end);
afterAll(async () => {
  for (const end of ends) await end();
});

describe.skipIf(skipped)("two processes over a primary with a synchronous standby", () => {
  let servers: ReplicatedPostgres;
  let database: Database;
  let customer: Customer;
  let products: [ReadyProcess, ReadyProcess];

  beforeAll(async () => {
    // Not the Redis of other tests: deployments that share one drop each other's events.
    const [{ rpcUrl }, pair, redis] = await Promise.all([
      startNetwork(onEnd),
      startReplicatedPostgres(onEnd, { synchronous: true }),
      startRedis(),
    ]);
    onEnd(() => redis.stop());
    servers = pair;
    database = await openPatiently(servers.url(), 4);
    onEnd(() => database.close());
    customer = await newCustomer(database, 10_000_000n);
    const start = () =>
      startReady({
        settings: {
          ...PATIENT_PROVIDERS,
          ...{ DATABASE_URL: servers.url(), REDIS_URL: redis.url, RPC_URL: rpcUrl },
          ...{ DATA_DIR: newFolder(onEnd), CATALOGUE_REFRESH_MS: "1000" },
        },
        onEnd,
      });
    products = await Promise.all([start(), start()]);
  });

  test("when the primary is killed and the standby promoted, no bill is lost and service resumes within 10 s", async () => {
    // Before the load: it receives what happens after its cursor.
    const follower = await ResumingFollower.start(
      [products[0].origin, products[1].origin],
      customer.managementKey,
    );
    const load = startLoad(
      products.map(({ origin }) => origin),
      customer.secret,
    );
    await until(() => load.answered.length > 20 && follower.settlements().size > 0);

    const killedAt = performance.now();
    await servers.primary.end("SIGKILL");
    await until(() => load.failures.length > 0);
    await servers.promote();
    const promotedAt = performance.now();
    const before = load.answered.length;
    await until(() => load.answered.length > before);
    const backAt = performance.now();
    expect(backAt - killedAt).toBeLessThan(scaled(FAILOVER_MS));

    // It accepts writes again, and is the first in the list.
    await servers.primary.restart();
    const frozen = (await servers.primary.rows(SETTLED)).length;
    const resumed = load.answered.length;
    await until(() => load.answered.length > resumed + 40);
    await load.stop();
    expect((await servers.primary.rows(SETTLED)).length).toBe(frozen);

    expect(new Set(load.failures)).toEqual(new Set(["503 unavailable"]));
    const settled = new Set((await database.rows<{ id: string }>(SETTLED)).map(({ id }) => id));
    expect(load.answered.filter((id) => !settled.has(id))).toEqual([]);
    // Some that were being settled may have been, although they were answered 503.
    expect(settled.size).toBeLessThanOrEqual(load.answered.length + load.failures.length);
    // A request whose bill waited for the failover may be settled only now.
    await until(async () => {
      const events = await database.rows<{ id: string; position: string }>(SETTLEMENTS);
      const seen = follower.settlements();
      expect([events.filter(({ id }) => !seen.has(id)), events.length], `${follower.failures}`).toEqual([
        [],
        (await database.rows(SETTLED)).length,
      ]);
    });
    await follower.stop();
    const ledger = new LedgerService(database);
    await until(async () => expect(await ledger.verify()).toMatchObject({ faults: [], openHolds: 0 }));
    const command = {
      script: "dist/gateway/cli/verify-ledger.js",
      settings: { DATABASE_URL: servers.url() },
    };
    expect((await runProcess(command)).stdout).toContain("The ledger is exact");
    console.log(
      `${load.failures.length} of ${load.answered.length + load.failures.length} chats answered 503; ` +
        `back ${Math.round(backAt - killedAt)} ms after the kill, ${Math.round(backAt - promotedAt)} ms after the promotion`,
    );
  });
});

/** Chats one after the other at each origin: the ids of those that were answered, and how the others failed. */
function startLoad(origins: readonly string[], secret: string) {
  const answered: string[] = [];
  const failures: string[] = [];
  let isOver = false;
  const loops = [...origins, ...origins].map(async (origin) => {
    while (!isOver) {
      const reply = await chat(origin, secret, { max_tokens: 2 });
      const { error } = (await reply.json()) as { error?: { code: string } };
      if (error) failures.push(`${reply.status} ${error.code}`);
      else answered.push(reply.headers.get("x-request-id") ?? "");
    }
  });
  return {
    answered,
    failures,
    async stop() {
      isOver = true;
      await Promise.all(loops);
    },
  };
}
