// @module-tag large
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import { LedgerService } from "../../../src/accounts/ledger.service.ts";
import { openDatabase } from "../../../src/db/open.ts";
import { formatToken } from "../../../src/kernel/text/amount.ts";
import {
  BATCH_MODEL,
  BatchClient,
  chatLine,
  inputOf,
  LINE_COST,
  leftOf,
  numbers,
  offerBatchModel,
  outcomesOf,
} from "../../support/batches/batch-world.ts";
import { startNetwork } from "../../support/chain/network.ts";
import { completion, sendJson, startScripted } from "../../support/inference/scripted-provider.ts";
import { scaled } from "../../support/machine.ts";
import { PATIENT_PROVIDERS } from "../../support/patient-providers.ts";
import { seedAccount } from "../../support/seed.ts";
import type { OnEnd } from "../../support/servers/database.ts";
import { newFolder, startReady } from "../../support/servers/process.ts";
import { until } from "../../support/until.ts";

const MONEY = 1_000_000n;
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
  const settings = {
    ...PATIENT_PROVIDERS,
    ...{ DATA_DIR: folder, RPC_URL: rpcUrl, PROVIDERS_FILE: offerBatchModel(newFolder(onEnd), provider) },
    BATCH_LINES_PARALLEL: "4",
  };
  const database = await openDatabase({ kind: "folder", path: folder });
  const owner = await seedAccount(database, MONEY);
  await database.close();
  const text = inputOf(numbers(LINES).map((n) => chatLine(n, BATCH_MODEL)));

  let running = await startReady({ settings, onEnd });
  let client = new BatchClient(running, owner);
  const { id } = await client.start(text);
  // While it is checked, or just after.
  await running.end("SIGKILL");

  const silent: number[] = [];
  let isSilent = false;
  provider.scripts.set(BATCH_MODEL, async (_call, response, n) => {
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
    // Each answer is counted in the transaction that bills it.
    usage: { cost: Number(formatToken(BigInt(LINES) * LINE_COST)) },
  });
  const lines = await client.lines(batch.output_file_id);
  expect(lines.map(({ custom_id }) => custom_id)).toEqual(numbers(LINES).map((n) => `request-${n}`));
  // Each line in flight is sent once more, and no other.
  expect(provider.callsOf(BATCH_MODEL)).toHaveLength(LINES + silent.length);
  expect(await running.end("SIGTERM")).toEqual({ code: 0, signal: null });

  const after = await openDatabase({ kind: "folder", path: folder });
  onEnd(() => after.close());
  expect(await new LedgerService(after).verify()).toMatchObject({ faults: [], openHolds: 0 });
  expect(await outcomesOf(after, owner.account)).toEqual([
    { outcome: "completed", requests: LINES, cost: String(BigInt(LINES) * LINE_COST) },
    { outcome: "interrupted", requests: silent.length, cost: "0" },
  ]);
  expect(await leftOf(after, owner.account)).toEqual({
    deposit: `${MONEY - BigInt(LINES) * LINE_COST}`,
    held: "0",
  });
});
