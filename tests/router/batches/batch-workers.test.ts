// @module-tag large
import { setTimeout as sleep } from "node:timers/promises";
import type OpenAI from "openai";
import { afterAll, describe, expect, inject, test } from "vitest";
import {
  BATCH_MODEL,
  BatchClient,
  chatLine,
  inputOf,
  LINE_COST,
  leftOf,
  linesBegun,
  numbers,
  offerBatchModel,
  outcomesOf,
} from "../../support/batches/batch-world.ts";
import { completion, sendJson, startScripted } from "../../support/inference/scripted-provider.ts";
import { type Seeded, seedAccount } from "../../support/seed.ts";
import { newFolder } from "../../support/servers/process.ts";
import { useTwins } from "../../support/stack.ts";
import { until } from "../../support/until.ts";

const START = 10_000_000n;
const LINES = 150;

const provider = await startScripted();
provider.scripts.set(BATCH_MODEL, async (_, response) => {
  await sleep(20);
  sendJson(response, 200, completion());
});
afterAll(() => provider.stop());
const providers = offerBatchModel(
  newFolder((end) => afterAll(end)),
  provider,
);

describe.skipIf(!inject("postgresUrl"))("two workers on one database", () => {
  const twins = useTwins({ PROVIDERS_FILE: providers }, "all");
  const database = () => twins()[0].app.database;

  test("no line begins once the cancellation of its batch was answered, at either of them", async () => {
    const cancelled = await Promise.all(
      numbers(6).map(async (k) => {
        const { owner, clients, id } = await start(k);
        // Cancelled at the worker that runs it, and at the other.
        await clients[k % 4 < 2 ? 0 : 1].openai.batches.cancel(id);
        return { owner, id, client: clients[0], begun: await linesBegun(database(), id) };
      }),
    );
    for (const { owner, id, client, begun } of cancelled) {
      const batch = await client.ended(id);
      expect(batch).toMatchObject({
        status: "cancelled",
        request_counts: { total: LINES, completed: begun, failed: LINES - begun },
      });
      expect(promptsOf(owner).size).toBe(begun);
      await requireOnce(client, batch);
      await requireCharged(owner, begun);
      expect(await outcomesOf(database(), owner.account)).toMatchObject([{ outcome: "completed" }]);
    }
  });

  test("a batch that is cancelled while another worker takes it over ends once, and each of its lines", async () => {
    for (let round = 0; round < 6; round++) {
      const { owner, clients, id } = await start(round);
      const late = sleep(round * 5);
      await Promise.all([
        database().rows(TAKE_OVER, [owner.account]),
        ...clients.map(({ openai }) => late.then(() => openai.batches.cancel(id))),
      ]);
      const begun = await linesBegun(database(), id);
      const batch = await clients[0].ended(id);
      const { completed = 0, failed = 0 } = batch.request_counts ?? {};
      expect([batch.status, completed + failed]).toEqual(["cancelled", LINES]);
      // What the first worker had sent when it lost the batch is not billed, and not sent again.
      expect(completed).toBeLessThanOrEqual(begun);
      expect(completed).toBeLessThanOrEqual(promptsOf(owner).size);
      await requireOnce(clients[1], batch);
      await requireCharged(owner, completed);
    }
  });

  /** Starts the batch of a new account at one of the workers, and waits until some of its lines have begun. */
  async function start(k: number) {
    const owner = await seedAccount(database(), START);
    const clients = twins().map((twin) => new BatchClient(twin, owner)) as [BatchClient, BatchClient];
    const lines = numbers(LINES).map((n) => chatLine(n, BATCH_MODEL, { user: owner.keyId }));
    const { id } = await clients[k % 2 === 0 ? 0 : 1].start(inputOf(lines));
    await until(async () => (await linesBegun(database(), id)) > 5);
    return { owner, clients, id };
  }

  /** Each of its lines is in one of the files, once. */
  async function requireOnce(client: BatchClient, batch: OpenAI.Batch): Promise<void> {
    const answered = await client.lines(batch.output_file_id);
    const others = await client.lines(batch.error_file_id);
    expect(answered).toHaveLength(batch.request_counts?.completed ?? 0);
    expect(new Set(answered.map(({ response }) => response?.status_code))).toEqual(new Set([200]));
    for (const { error } of others) expect(error?.code).toBe("batch_cancelled");
    const ids = [...answered, ...others].map(({ custom_id }) => custom_id);
    expect(ids.toSorted()).toEqual(
      numbers(LINES)
        .map((n) => `request-${n}`)
        .toSorted(),
    );
  }

  /** The account has paid for this many lines, and nothing is held. */
  async function requireCharged({ account }: Seeded, lines: number): Promise<void> {
    const cost = BigInt(lines) * LINE_COST;
    const outcomes = await outcomesOf(database(), account);
    expect(outcomes.reduce((sum, { cost: part }) => sum + BigInt(part), 0n)).toBe(cost);
    expect(outcomes.find(({ outcome }) => outcome === "completed")?.requests).toBe(lines);
    expect(await leftOf(database(), account)).toEqual({ deposit: `${START - cost}`, held: "0" });
  }
});

/** The different prompts of an account that the provider was sent. */
function promptsOf({ keyId }: Seeded): ReadonlySet<string> {
  const calls = provider.callsOf(BATCH_MODEL).filter(({ body }) => body.user === keyId);
  return new Set(calls.map(({ body }) => JSON.stringify(body.messages)));
}

/** As if a third worker had taken it over, and died. */
const TAKE_OVER = `
  update job set leased_until = now() - interval '1 second', fence = fence + 1
  where account = $1::text and state = 'processing'`;
