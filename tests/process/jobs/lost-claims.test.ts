// @module-tag large
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { LedgerService } from "../../../src/accounts/ledger.service.ts";
import type { Database } from "../../../src/db/database.ts";
import { openDatabase } from "../../../src/db/open.ts";
import { type Seeded, seedAccount } from "../../support/seed.ts";
import { newFolder, type ReadyProcess } from "../../support/servers/process.ts";
import { COST, MODEL, openSlowMarket, type SlowMarket } from "../../support/slow-market.ts";
import { until } from "../../support/until.ts";

const skipped = !inject("postgresUrl") || !inject("redisUrl");
if (skipped)
  console.warn("!! Lost idempotency keys are NOT tested: this machine has no PostgreSQL or no Redis");

const GIVEN = 1_000_000n;
const RETRIES = 20;

const ends: (() => Promise<void>)[] = [];
const onEnd = (end: () => Promise<void>) => void ends.unshift(end);
afterAll(async () => {
  for (const end of ends) await end();
});

type Reply = { readonly status: number; readonly code: string | undefined; readonly text: string };

/** A chat with the key; status 0 if its process ends before it answers. */
async function post(origin: string, { secret }: Seeded, key: string): Promise<Reply> {
  const chat = { model: MODEL, messages: [{ role: "user", content: "What is the sea?" }], max_tokens: 20 };
  try {
    const reply = await fetch(`${origin}/v1/chat/completions`, {
      method: "POST",
      headers: {
        ...{ "content-type": "application/json", authorization: `Bearer ${secret}`, "idempotency-key": key },
      },
      body: JSON.stringify(chat),
    });
    const text = await reply.text();
    const { error } = JSON.parse(text) as { error?: { code: string } };
    return { status: reply.status, code: error?.code, text };
  } catch {
    return { status: 0, code: undefined, text: "" };
  }
}

/** Repeats a chat until it is not in progress any more. */
const repeated = (origin: string, customer: Seeded, key: string) =>
  until(async () => {
    const reply = await post(origin, customer, key);
    return reply.code !== "idempotency_in_progress" && reply;
  });

async function spentBy(database: Database, { account }: Seeded): Promise<bigint> {
  return until(async () => {
    const [row] = await database.rows<{ held: string; left: string }>(
      "select held::text as held, (deposit + credit)::text as left from account where address = $1",
      [account],
    );
    return row?.held === "0" && { spent: GIVEN - BigInt(row.left) };
  }).then(({ spent }) => spent);
}

describe.skipIf(skipped)("an Idempotency-Key whose process is lost", () => {
  let market: SlowMarket;
  let survivor: ReadyProcess;

  beforeAll(async () => {
    market = await openSlowMarket(onEnd);
    survivor = await market.start();
  });

  /** A process with one chat at the provider, which waits for `answer`. */
  async function startBusy(customer: Seeded, key: string, settings = {}) {
    const { provider } = market;
    const answer = market.delay();
    const busy = await market.start(settings);
    const before = provider.calls.length;
    // A client sends a chat again that a process refuses because the machine is busy.
    const { reply } = await until(async () => {
      const sent = post(busy.origin, customer, key);
      const called = until(() => provider.calls.length > before).then(() => undefined);
      const refusal = await Promise.race([sent, called]);
      if (refusal) throw new Error(`the chat did not reach the provider: ${JSON.stringify(refusal)}`);
      return { reply: sent };
    });
    return { answer, busy, reply };
  }

  test("by kill -9 is free again: of 20 repetitions at once one is run, and all are charged once", async () => {
    const { database, provider } = market;
    const customer = await seedAccount(database, GIVEN);
    const { answer, busy, reply } = await startBusy(customer, "killed");
    expect((await post(survivor.origin, customer, "killed")).code).toBe("idempotency_in_progress");
    await busy.end("SIGKILL");
    answer();
    expect((await reply).status).toBe(0);
    const before = provider.calls.length;
    const replies = await Promise.all(
      Array.from({ length: RETRIES }, () => repeated(survivor.origin, customer, "killed")),
    );
    expect(new Set(replies.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(replies[0]?.status).toBe(200);
    expect(provider.calls.length - before).toBe(1);
    expect(await spentBy(database, customer)).toBe(COST);
    expect(await new LedgerService(database).verify()).toMatchObject({ faults: [], openHolds: 0 });
  });

  test("while it only sleeps is free: the repetition is charged, and the late answer is not", async () => {
    const { database } = market;
    const customer = await seedAccount(database, GIVEN);
    const { answer, busy, reply } = await startBusy(customer, "asleep");
    process.kill(busy.pid, "SIGSTOP");
    answer();
    expect((await repeated(survivor.origin, customer, "asleep")).status).toBe(200);
    process.kill(busy.pid, "SIGCONT");
    const late = await reply;
    expect(late.status).toBe(200);
    expect(late.text).toContain('"total_cost":"0"');
    expect(await spentBy(database, customer)).toBe(COST);
    const again = await post(survivor.origin, customer, "asleep");
    expect({ ...again, isLate: again.text === late.text }).toMatchObject({ status: 200, isLate: false });
    expect(await busy.end("SIGTERM")).toEqual({ code: 0, signal: null });
    expect(await new LedgerService(database).verify()).toMatchObject({ faults: [], openHolds: 0 });
  });

  test("after it was charged is not run again", async () => {
    const { database } = market;
    const customer = await seedAccount(database, GIVEN);
    const { answer, busy, reply } = await startBusy(customer, "charged");
    await database.rows("update idempotency_key set is_charged = true where account = $1", [
      customer.account,
    ]);
    await busy.end("SIGKILL");
    answer();
    await reply;
    const { status, code } = await repeated(survivor.origin, customer, "charged");
    expect({ status, code }).toEqual({ status: 409, code: "idempotency_not_replayable" });
    expect(await spentBy(database, customer)).toBe(0n);
  });

  test("on the embedded database is free after the next start", async () => {
    const folder = newFolder(onEnd);
    const settings = { DATABASE_URL: "", REDIS_URL: "", DATA_DIR: folder };
    const database = await openDatabase({ kind: "folder", path: folder });
    const customer = await seedAccount(database, GIVEN);
    await database.close();
    const { answer, busy, reply } = await startBusy(customer, "embedded", settings);
    await busy.end("SIGKILL");
    answer();
    await reply;
    const next = await market.start(settings);
    expect((await repeated(next.origin, customer, "embedded")).status).toBe(200);
    expect(await next.end("SIGTERM")).toEqual({ code: 0, signal: null });
    const left = await openDatabase({ kind: "folder", path: folder });
    onEnd(() => left.close());
    expect(await spentBy(left, customer)).toBe(COST);
    expect(await new LedgerService(left).verify()).toMatchObject({ faults: [], openHolds: 0 });
  });
});
