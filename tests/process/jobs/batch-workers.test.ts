// @module-tag large
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, describe, expect, inject, test } from "vitest";
import { LedgerService } from "../../../src/accounts/ledger.service.ts";
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
import { type Following, followEvents } from "../../support/clients/graph-client.ts";
import { completion, sendJson, startScripted } from "../../support/inference/scripted-provider.ts";
import { scaled } from "../../support/machine.ts";
import { seedAccount } from "../../support/seed.ts";
import { createServerDatabase, type OnEnd, openPatiently } from "../../support/servers/database.ts";
import { newFolder, startReady } from "../../support/servers/process.ts";
import { startRedis } from "../../support/servers/redis.ts";
import { until } from "../../support/until.ts";

const MONEY = 1_000_000n;
const LINES = 60;
const ends: (() => Promise<void>)[] = [];
const onEnd: OnEnd = (end) => void ends.unshift(end);

afterAll(async () => {
  for (const end of ends) await end();
});

type Change = {
  readonly cursor: string;
  readonly sequence: number;
  readonly status: string;
  readonly completedCount: number;
  readonly failedCount: number;
};

const progressOf = (id: string, after?: string) =>
  `subscription { batchProgress(id: "${id}"${after ? `, after: "${after}"` : ""}) {
    cursor sequence status completedCount failedCount
  } }`;
const changesOf = ({ results }: Following): readonly Change[] =>
  results.map(({ data }) => data.batchProgress);

const skipped = !inject("postgresUrl") || !inject("redisUrl");
if (skipped) console.warn("!! Two workers are NOT tested: this machine has no PostgreSQL or no Redis");

describe.skipIf(skipped)("two processes that both work on batches", () => {
  test("one that is killed in the middle of a batch is replaced by the other: each line ends and is charged once, and followers miss nothing", async () => {
    const [{ rpcUrl }, redis, url, provider] = await Promise.all([
      startNetwork(onEnd),
      startRedis(),
      createServerDatabase(onEnd),
      startScripted(),
    ]);
    onEnd(() => redis.stop());
    onEnd(() => provider.stop());
    const database = await openPatiently(url, 2);
    onEnd(() => database.close());
    const owner = await seedAccount(database, MONEY);
    const settings = {
      ...{ DATABASE_URL: url, REDIS_URL: redis.url, RPC_URL: rpcUrl, DATA_DIR: newFolder(onEnd) },
      ...{ PROVIDERS_FILE: offerBatchModel(newFolder(onEnd), provider), BATCH_LINES_PARALLEL: "4" },
    };
    const silent: number[] = [];
    let isSilent = false;
    provider.scripts.set(BATCH_MODEL, async (_call, response, n) => {
      if (isSilent) return void silent.push(n);
      await sleep(20);
      sendJson(response, 200, completion());
    });

    // The batch begins before there is another worker that could claim it.
    const first = await startReady({ settings, onEnd });
    const client = new BatchClient(first, owner);
    const lines = [
      chatLine(1, BATCH_MODEL, { stream: true }),
      ...numbers(LINES).map((n) => chatLine(n + 1, BATCH_MODEL)),
      chatLine(LINES + 2, BATCH_MODEL, { stream: true }),
    ];
    const { id } = await client.start(inputOf(lines));
    const countsOf = async () => (await client.openai.batches.retrieve(id)).request_counts;
    await until(async () => ((await countsOf())?.completed ?? 0) > 10);
    isSilent = true;
    await until(() => silent.length === 4);
    const second = await startReady({ settings, onEnd });
    const [onFirst, onSecond] = [
      await followEvents(first.origin, owner.secret, progressOf(id)),
      await followEvents(second.origin, owner.secret, progressOf(id)),
    ];
    await until(() => [onFirst, onSecond].every((follower) => changesOf(follower).length > 0));
    const before = await countsOf();
    await first.end("SIGKILL");
    const killedMs = performance.now();
    isSilent = false;
    await onFirst.closed;

    const survivor = new BatchClient(second, owner);
    const batch = await survivor.ended(id);
    expect(performance.now() - killedMs).toBeLessThan(scaled(60_000));
    expect(before?.completed).toBeLessThan(LINES);
    expect(batch).toMatchObject({
      status: "completed",
      request_counts: { total: LINES + 2, completed: LINES, failed: 2 },
    });
    const [answered, failed] = [
      await survivor.lines(batch.output_file_id),
      await survivor.lines(batch.error_file_id),
    ];
    expect(answered.map(({ custom_id }) => custom_id)).toEqual(numbers(LINES).map((n) => `request-${n + 1}`));
    expect(failed.map(({ custom_id, response }) => [custom_id, response?.body.error?.code])).toEqual([
      ["request-1", "invalid_body"],
      [`request-${LINES + 2}`, "invalid_body"],
    ]);
    // Each line in flight is sent once more, and no other.
    expect(provider.callsOf(BATCH_MODEL)).toHaveLength(LINES + silent.length);

    expect(await new LedgerService(database).verify()).toMatchObject({ faults: [], openHolds: 0 });
    expect(await outcomesOf(database, owner.account)).toEqual([
      { outcome: "completed", requests: LINES, cost: String(BigInt(LINES) * LINE_COST) },
      { outcome: "interrupted", requests: silent.length, cost: "0" },
    ]);
    expect(await leftOf(database, owner.account)).toEqual({
      deposit: `${MONEY - BigInt(LINES) * LINE_COST}`,
      held: "0",
    });

    // A follower of the other process continues; one of the killed process continues there, after its last cursor.
    const seen = changesOf(onFirst);
    const resumed = await followEvents(second.origin, owner.secret, progressOf(id, seen.at(-1)?.cursor));
    for (const [follower, earlier] of [
      [onSecond, []],
      [resumed, seen],
    ] as const) {
      await until(() => changesOf(follower).at(-1)?.status === "COMPLETED");
      const changes = [...earlier, ...changesOf(follower)];
      expect(changes.map(({ sequence }) => sequence)).toEqual(
        changes.map((_, n) => (changes[0]?.sequence ?? 0) + n),
      );
      const ended = changes.map(({ completedCount, failedCount }) => completedCount + failedCount);
      expect(ended).toEqual(ended.toSorted((a, b) => a - b));
      expect(changes.at(-1)).toMatchObject({ completedCount: LINES, failedCount: 2 });
      await follower.closed;
    }
    expect(await second.end("SIGTERM")).toEqual({ code: 0, signal: null });
  });
});
