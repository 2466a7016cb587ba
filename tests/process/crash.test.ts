import { afterAll, beforeAll, expect, test } from "vitest";
import { HoldsService } from "../../src/accounts/holds.service.ts";
import { LedgerService } from "../../src/accounts/ledger.service.ts";
import { openDatabase } from "../../src/db/open.ts";
import type { StandInProvider } from "../../src/devnet/provider/provider.ts";
import { createLogger } from "../../src/kernel/log.ts";
import { startNetwork } from "../support/chain/network.ts";
import { scaled } from "../support/machine.ts";
import { type Seeded, seedAccount } from "../support/seed.ts";
import { newFolder, startReady } from "../support/servers/process.ts";
import { until } from "../support/until.ts";
import { chat, priceOf } from "./chat.ts";

const MONEY = 1_000_000n;
const ends: (() => Promise<void>)[] = [];
const onEnd = (end: () => Promise<void>) => void ends.unshift(end);

let folder = "";
let settings: Record<string, string> = {};
let provider: StandInProvider;
let seeded: Seeded;
/** Requests with a complete answer, and their bill where they were plain. */
const answered = new Map<string, string | undefined>();

beforeAll(async () => {
  const network = await startNetwork(onEnd);
  provider = network.provider;
  folder = newFolder(onEnd);
  settings = { DATA_DIR: folder, RPC_URL: network.rpcUrl };
  const database = await openDatabase({ kind: "folder", path: folder });
  seeded = await seedAccount(database, MONEY);
  await database.close();
});
afterAll(async () => {
  for (const end of ends) await end();
});

/** Starts 20 chats at once, every second one streamed, and records which are answered in full. */
function startTwentyChats(origin: string): { readonly begun: () => number; readonly over: Promise<unknown> } {
  let begun = 0;
  const asking = Array.from({ length: 20 }, async (_, n) => {
    const stream = n % 2 === 1;
    const reply = await chat(origin, seeded.secret, { stream, max_tokens: 10 });
    expect(reply.status).toBe(200);
    begun++;
    const body = await reply.text();
    const [, bill] = /"total_cost":"(\d+)"/.exec(body) ?? [];
    if (!stream || body.endsWith("data: [DONE]\n\n"))
      answered.set(reply.headers.get("x-request-id") ?? "", bill);
  });
  return { begun: () => begun, over: Promise.allSettled(asking) };
}

const MOMENTS = [
  {
    when: "the provider has all requests",
    behaviour: { delayMs: 60_000 },
    begun: 0,
    answers: 0,
    requests: 20,
  },
  {
    when: "the streams have begun",
    behaviour: { chunkDelayMs: 1_000 },
    begun: 20,
    answers: 10,
    requests: 20,
  },
  { when: "the first answer came", behaviour: {}, begun: 1, answers: 1, requests: 0 },
] as const;

test.each(MOMENTS)("it starts, and can be killed with 20 chats under way when $when", async (moment) => {
  provider.behaviour = moment.behaviour;
  const [before, known] = [provider.requests, answered.size];
  const running = await startReady({ settings });
  const chats = startTwentyChats(running.origin);
  await until(
    () =>
      provider.requests - before >= moment.requests &&
      chats.begun() >= moment.begun &&
      answered.size - known >= moment.answers,
  );
  expect(await running.end("SIGKILL")).toEqual({ code: null, signal: "SIGKILL" });
  await chats.over;
  provider.behaviour = {};
});

test("SIGTERM lets running answers finish, plain and streamed, before the process ends", async () => {
  provider.behaviour = { chunkDelayMs: 100 };
  const running = await startReady({ settings });
  const known = answered.size;
  const chats = startTwentyChats(running.origin);
  await until(() => chats.begun() >= 20);
  const ending = running.end("SIGTERM");
  await until(() =>
    fetch(running.origin).then(
      () => false,
      () => true,
    ),
  );
  await chats.over;
  const overMs = performance.now();
  expect(answered.size - known).toBe(20);
  expect(await ending).toEqual({ code: 0, signal: null });
  // It waits for answers, not for clients that keep their connections open.
  expect(performance.now() - overMs).toBeLessThan(scaled(10_000));
  provider.behaviour = {};
});

test("in the end every answer is charged once, unanswered requests are held, and their holds expire", async () => {
  const database = await openDatabase({ kind: "folder", path: folder });
  onEnd(() => database.close());
  const ledger = new LedgerService(database);
  expect(await ledger.verify()).toMatchObject({ faults: [] });
  type Row = { id: string; status: string; paid: string | null; settlements: number };
  const requests = await database.rows<Row>(`
    select r.id, r.status, r.total_cost::text as paid, count(e.*)::int as settlements
    from inference_request r
    left join ledger_entry e on e.transfer_id = 'settle:' || r.id and e.book = 'revenue'
    group by r.id, r.status, r.total_cost`);
  const byId = new Map(requests.map((request) => [request.id, request]));
  for (const [id, bill] of answered)
    expect(byId.get(id)).toMatchObject({
      status: "completed",
      settlements: 1,
      paid: bill ?? `${priceOf(10)}`,
    });
  const open = await database.rows<{ id: string }>("select id from hold where state = 'open'");
  const running = requests.filter(({ status }) => status === "running");
  expect(open.map(({ id }) => id).toSorted()).toEqual(running.map(({ id }) => id).toSorted());
  // 20 at the first moment and 10 streams at the second: at least 30 chats are open.
  expect(open.length).toBeGreaterThanOrEqual(30);
  expect(open.filter(({ id }) => answered.has(id))).toEqual([]);
  await database.rows("update hold set expires_at = now() - interval '1 second' where state = 'open'");
  const holds = new HoldsService({ database, log: createLogger("silent"), committed: () => {} });
  expect(await holds.sweep()).toBe(open.length);
  expect(await ledger.verify()).toMatchObject({ faults: [], openHolds: 0 });
  const paid = requests.reduce((sum, request) => sum + BigInt(request.paid ?? 0), 0n);
  const [left] = await database.rows<{ deposit: string; held: string }>(
    "select deposit::text as deposit, held::text as held from account where address = $1",
    [seeded.account],
  );
  expect(left).toEqual({ deposit: `${MONEY - paid}`, held: "0" });
});
