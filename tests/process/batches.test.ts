import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import { LedgerService } from "../../src/accounts/ledger.service.ts";
import { openDatabase } from "../../src/db/open.ts";
import { BatchClient, chatLine, inputOf, numbers } from "../support/batches/batch-world.ts";
import { startNetwork } from "../support/chain/network.ts";
import { completion, sendJson, startScripted, USAGE } from "../support/inference/scripted-provider.ts";
import { scaled } from "../support/machine.ts";
import { seedAccount } from "../support/seed.ts";
import type { OnEnd } from "../support/servers/database.ts";
import { newFolder, startReady } from "../support/servers/process.ts";
import { until } from "../support/until.ts";

const MONEY = 1_000_000n;
const MODEL = "batch-model";
const COST = BigInt(USAGE.prompt_tokens) * 2n + BigInt(USAGE.completion_tokens) * 3n;
const LINES = 80;
const ends: (() => Promise<void>)[] = [];
const onEnd: OnEnd = (end) => void ends.unshift(end);

afterAll(async () => {
  for (const end of ends) await end();
});

test("killed while a batch is checked and while lines are in flight, the product ends it after its restart, and no line is billed twice", async () => {
  const { rpcUrl } = await startNetwork(onEnd);
  const provider = await startScripted();
  onEnd(() => provider.stop());
  const folder = newFolder(onEnd);
  const providers = join(newFolder(onEnd), "providers.json");
  const models = [{ id: MODEL, pricing: { prompt: "2", completion: "3" } }];
  writeFileSync(providers, JSON.stringify({ providers: [{ name: "one", url: provider.url, models }] }));
  const settings = {
    ...{ DATA_DIR: folder, RPC_URL: rpcUrl, PROVIDERS_FILE: providers },
    BATCH_LINES_PARALLEL: "4",
  };
  const database = await openDatabase({ kind: "folder", path: folder });
  const owner = await seedAccount(database, MONEY);
  await database.close();
  const text = inputOf(numbers(LINES).map((n) => chatLine(n, MODEL)));

  let running = await startReady({ settings, onEnd });
  let client = new BatchClient(running, owner);
  const { id } = await client.start(text);
  // While it is checked, or just after.
  await running.end("SIGKILL");

  const silent: number[] = [];
  let isSilent = false;
  provider.scripts.set(MODEL, async (_call, response, n) => {
    if (isSilent) return void silent.push(n);
    await sleep(20);
    sendJson(response, 200, completion());
  });
  running = await startReady({ settings, onEnd });
  client = new BatchClient(running, owner);
  const answered = async () => (await client.openai.batches.retrieve(id)).request_counts?.completed ?? 0;
  await until(async () => (await answered()) > 10);
  isSilent = true;
  await until(() => silent.length === 4);
  const before = await answered();
  expect(before).toBeLessThan(LINES);
  await running.end("SIGKILL");
  isSilent = false;

  running = await startReady({ settings, onEnd });
  const readyMs = performance.now();
  client = new BatchClient(running, owner);
  const batch = await client.ended(id);
  expect(performance.now() - readyMs).toBeLessThan(scaled(60_000));
  expect(batch).toMatchObject({
    status: "completed",
    request_counts: { total: LINES, completed: LINES, failed: 0 },
  });
  const lines = await client.lines(batch.output_file_id);
  expect(lines.map(({ custom_id }) => custom_id)).toEqual(numbers(LINES).map((n) => `request-${n}`));
  // Each line in flight is sent once more, and no other.
  expect(provider.callsOf(MODEL)).toHaveLength(LINES + silent.length);
  expect(await running.end("SIGTERM")).toEqual({ code: 0, signal: null });

  const after = await openDatabase({ kind: "folder", path: folder });
  onEnd(() => after.close());
  expect(await new LedgerService(after).verify()).toMatchObject({ faults: [], openHolds: 0 });
  const charges = await after.rows<{ outcome: string; requests: number; cost: string }>(
    `select coalesce(error_code, status) as outcome, count(*)::int as requests, sum(total_cost)::text as cost
     from inference_request where account = $1::text group by 1 order by 1`,
    [owner.account],
  );
  expect(charges).toEqual([
    { outcome: "completed", requests: LINES, cost: String(BigInt(LINES) * COST) },
    { outcome: "interrupted", requests: silent.length, cost: "0" },
  ]);
  const [left] = await after.rows<{ deposit: string; held: string }>(
    "select deposit::text as deposit, held::text as held from account where address = $1::text",
    [owner.account],
  );
  expect(left).toEqual({ deposit: `${MONEY - BigInt(LINES) * COST}`, held: "0" });
});
