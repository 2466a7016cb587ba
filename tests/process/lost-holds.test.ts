// @module-tag large
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { TagBudgetsService } from "../../src/accounts/budgets/tag-budgets.service.ts";
import { LedgerService } from "../../src/accounts/ledger.service.ts";
import type { Database } from "../../src/db/database.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { ApiKeyService } from "../../src/keys/api-keys/api-key.service.ts";
import { scaled } from "../support/machine.ts";
import { seedAccount } from "../support/seed.ts";
import type { ReadyProcess } from "../support/servers/process.ts";
import { COST, MODEL, openSlowMarket, type SlowMarket } from "../support/slow-market.ts";
import { until } from "../support/until.ts";

const skipped = !inject("postgresUrl") || !inject("redisUrl");
if (skipped) console.warn("!! Lost holds are NOT tested: this machine has no PostgreSQL or no Redis");

/** How long the money of a dead process stays held, at most. */
const FREE_MS = 15_000;

const ends: (() => Promise<void>)[] = [];
const onEnd = (end: () => Promise<void>) => void ends.unshift(end);
afterAll(async () => {
  for (const end of ends) await end();
});

describe.skipIf(skipped)("requests in flight with a budget and with the limit of a key", () => {
  let market: SlowMarket;
  let database: Database;
  let survivor: ReadyProcess;
  /** Lets the provider answer. */
  let answer: () => void;

  beforeAll(async () => {
    market = await openSlowMarket(onEnd);
    database = market.database;
    survivor = await market.start();
  });

  /** An account with a key that has a limit and a budget for `team=search`, and what is held of each. */
  async function newCustomer() {
    const { account } = await seedAccount(database, 1_000_000n);
    const keys = new ApiKeyService({ database, clock: systemClock, committed: () => {} });
    const { key, secret } = await keys.create(account, "limited", { creditLimit: 900_000n });
    const budgets = new TagBudgetsService({ database, clock: systemClock, committed: () => {} });
    const creditLimit = 800_000n;
    await budgets.create(account, { name: "team", value: "search", creditLimit });
    const chat = (origin: string, tag: string | undefined) =>
      fetch(`${origin}/v1/chat/completions`, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          authorization: `Bearer ${secret}`,
          ...(tag !== undefined && { "x-tag": tag }),
        },
        body: JSON.stringify({
          model: MODEL,
          messages: [{ role: "user", content: "What is the sea?" }],
          max_tokens: 20,
        }),
      });
    const read = async () => {
      const [row] = await database.rows<Record<"account" | "key" | "budget" | "used", string>>(
        `select a.held::text as account, k.held::text as key, b.held::text as budget, b.used::text as used
         from account a join api_key k on k.account = a.address and k.id = $2::uuid
         join tag_budget b on b.account = a.address where a.address = $1`,
        [account, key.id],
      );
      return row;
    };
    const isFree = async () => {
      const row = await read();
      return row?.account === "0" && row.key === "0" && row.budget === "0";
    };
    const costs = () =>
      database.rows<{ status: string; cost: string | null }>(
        "select status, total_cost::text as cost from inference_request where account = $1",
        [account],
      );
    return { account, chat, read, isFree, costs };
  }

  /** Starts a process with `count` requests in flight at the provider, half of them with a budgeted tag. */
  async function startBusy(customer: Awaited<ReturnType<typeof newCustomer>>, count: number) {
    const { provider } = market;
    answer = market.delay();
    const before = provider.calls.length;
    const busy = await market.start();
    const replies = Array.from({ length: count }, (_, n) =>
      customer.chat(busy.origin, n % 2 ? "team=search" : undefined).then(
        async (reply) => ({ status: reply.status, text: await reply.text() }),
        () => ({ status: 0, text: "" }),
      ),
    );
    await until(() => provider.calls.length - before === count);
    return { busy, replies };
  }

  test("kill -9 of their process: all of their money is free again within 15 s, and none is charged", async () => {
    const customer = await newCustomer();
    const { busy, replies } = await startBusy(customer, 50);
    expect(Number((await customer.read())?.budget)).toBeGreaterThan(0);
    await busy.end("SIGKILL");
    const killedMs = performance.now();
    await until(customer.isFree);
    expect(performance.now() - killedMs).toBeLessThan(scaled(FREE_MS));
    answer();
    expect(new Set((await Promise.all(replies)).map(({ status }) => status))).toEqual(new Set([0]));
    expect(
      (await customer.costs()).filter(({ status, cost }) => status === "running" || cost !== "0"),
    ).toEqual([]);
    expect((await customer.read())?.used).toBe("0");
    expect((await customer.chat(survivor.origin, "team=search")).status).toBe(200);
    await until(customer.isFree);
    expect(await new LedgerService(database).verify()).toMatchObject({ faults: [], openHolds: 0 });
  });

  test("a process that is stopped until its money is free, and continues, charges each of its answers once", async () => {
    const customer = await newCustomer();
    const { busy, replies } = await startBusy(customer, 10);
    process.kill(busy.pid, "SIGSTOP");
    await until(customer.isFree);
    answer();
    // Others spend meanwhile, while the answers wait in its sockets.
    expect((await customer.chat(survivor.origin, "team=search")).status).toBe(200);
    process.kill(busy.pid, "SIGCONT");
    const answers = await Promise.all(replies);
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200));
    for (const { text } of answers) expect(text).toContain(`"total_cost":"${COST}"`);
    await until(customer.isFree);
    const costs = await customer.costs();
    expect(costs).toEqual(Array.from({ length: 11 }, () => ({ status: "completed", cost: `${COST}` })));
    expect((await customer.read())?.used).toBe(`${6n * COST}`);
    const [row] = await database.rows<{ total: string }>(
      "select (deposit + credit + held)::text as total from account where address = $1",
      [customer.account],
    );
    expect(row?.total).toBe(`${1_000_000n - 11n * COST}`);
    expect(await busy.end("SIGTERM")).toEqual({ code: 0, signal: null });
    expect(await new LedgerService(database).verify()).toMatchObject({ faults: [], openHolds: 0 });
  });
});
