// @module-tag large
import { beforeEach, describe, expect, test } from "vitest";
import { FileCipher } from "../../../src/client-files/file-cipher.ts";
import { readFileId } from "../../../src/client-files/file-id.ts";
import { FileSweep } from "../../../src/client-files/file-sweep.runner.ts";
import { IS_READ } from "../../../src/inference/batches/batch.store.ts";
import { createLogger } from "../../../src/kernel/log.ts";
import { AheadClock } from "../../support/ahead-clock.ts";
import { BatchClient, chatLine, inputOf, leftOf, numbers } from "../../support/batches/batch-world.ts";
import { requireAvailable } from "../../support/inference/bill.ts";
import { completion, sendJson, USAGE } from "../../support/inference/scripted-provider.ts";
import { PRICES, useRouter } from "../../support/router.ts";
import type { Seeded } from "../../support/seed.ts";
import { until } from "../../support/until.ts";

const MODEL = "batch-model";
const START = 10_000_000n;
const COST =
  BigInt(USAGE.prompt_tokens) * PRICES[0].prompt + BigInt(USAGE.completion_tokens) * PRICES[0].completion;
const DAY_MS = 86_400_000;
const HOUR = { anchor: "created_at", seconds: 3_600 } as const;

const clock = new AheadClock();
const router = await useRouter({
  models: [MODEL],
  clock,
  // Longer than a test: what is silent here is answered by the test.
  settings: { PROVIDER_FIRST_BYTE_MS: "600000", PROVIDER_TOTAL_MS: "600000", BATCH_LINES_PARALLEL: "4" },
});

/** The answers that the provider holds back. */
let silent: (() => void)[] = [];
let owner: Seeded;
let client: BatchClient;
beforeEach(async () => {
  owner = await router().seed(START);
  client = new BatchClient(router(), owner);
  silent = [];
});

/** Answers the first `count` requests, and holds the answers of the others back. */
function answerFirst(count: number): void {
  let calls = 0;
  for (const { scripts } of router().scripted)
    scripts.set(MODEL, (_, response) => {
      const answer = () => sendJson(response, 200, completion());
      if (calls++ < count) answer();
      else silent.push(answer);
    });
}

const lines = (count: number) => inputOf(numbers(count).map((n) => chatLine(n, MODEL)));

test("a batch whose window ends is expired: what was sent is answered and billed, the others are in the error file", async () => {
  const { app } = router();
  answerFirst(5);
  const { id, expires_at } = await client.start(lines(20));
  await until(() => silent.length === 4);
  clock.advance(DAY_MS);
  // For a worker that takes it over, by the clock of the database.
  await app.database.rows("update job set deadline = now() where account = $1::text", [owner.account]);
  for (const answer of silent.splice(0)) answer();
  const batch = await client.ended(id);
  expect(batch).toMatchObject({
    status: "expired",
    request_counts: { total: 20, completed: 9, failed: 11 },
    errors: null,
    failed_at: null,
    completed_at: null,
    cancelled_at: null,
  });
  expect(batch.expired_at).toBeGreaterThanOrEqual(batch.in_progress_at ?? Number.POSITIVE_INFINITY);
  expect(batch.expires_at).toBeLessThanOrEqual(expires_at ?? 0);
  const [answered, others] = [
    await client.lines(batch.output_file_id),
    await client.lines(batch.error_file_id),
  ];
  expect(answered.map(({ custom_id, response }) => [custom_id, response?.status_code])).toEqual(
    numbers(9).map((n) => [`request-${n}`, 200]),
  );
  expect(others.map(({ custom_id, response, error }) => [custom_id, response, error])).toEqual(
    numbers(11).map((n) => [
      `request-${n + 9}`,
      null,
      {
        code: "batch_expired",
        message: "This request could not be executed before the completion window expired.",
      },
    ]),
  );
  expect(router().scripted.flatMap(({ calls }) => calls)).toHaveLength(9);
  await requireAvailable(app, owner, { available: START - 9n * COST });
  await expect(client.openai.batches.cancel(id)).rejects.toMatchObject({
    status: 409,
    code: "batch_not_cancellable",
  });
});

test("a batch that a worker takes over after its window is expired, and nothing is sent again", async () => {
  const { app } = router();
  answerFirst(0);
  const { id } = await client.start(lines(3));
  await until(() => silent.length === 3);
  // Another worker takes it over and dies, and the next one finds it after its window.
  await app.database.rows(TAKEN_OVER_LATE, [owner.account]);
  const batch = await client.ended(id);
  expect(batch).toMatchObject({
    status: "expired",
    request_counts: { total: 3, completed: 0, failed: 3 },
    output_file_id: null,
  });
  expect((await client.lines(batch.error_file_id)).map(({ error }) => error?.code)).toEqual(
    numbers(3).map(() => "batch_expired"),
  );
  expect(silent).toHaveLength(3);
  await requireAvailable(app, owner, { available: START });
});

describe("a batch whose files are under another BATCH_FILES_SECRET", () => {
  /** Seals the key of the batch's input as a process with another secret does. */
  const resealed = async (id: string, fileId: string) => {
    const rowId = readFileId(fileId);
    const sealed = new FileCipher("deployment", "another-secret").newKey(rowId);
    await router().app.database.rows(
      "update client_file set sealed_key = decode($2::text, 'hex') where id = $1::uuid",
      [rowId, sealed.toString("hex")],
    );
    return id;
  };

  test("is tried again until its window ends, and then expires; what was sent is not billed", async () => {
    const { app } = router();
    answerFirst(1);
    const { id, input_file_id } = await client.start(lines(6));
    await until(() => silent.length === 4);
    await resealed(id, input_file_id);
    await app.database.rows(TAKEN_OVER, [owner.account]);
    const claims = await claimsOf(owner.account);
    await until(async () => (await claimsOf(owner.account)) > claims);
    expect(await client.openai.batches.retrieve(id)).toMatchObject({ status: "in_progress" });
    await app.database.rows(TAKEN_OVER_LATE, [owner.account]);
    const batch = await client.ended(id);
    // The entries of an error file name the requests of the input, which cannot be read.
    expect(batch).toMatchObject({
      status: "expired",
      request_counts: { total: 6, completed: 1, failed: 0 },
      error_file_id: null,
    });
    expect(await client.lines(batch.output_file_id)).toHaveLength(1);
    await requireAvailable(app, owner, { available: START - COST });
  });

  test("can be cancelled", async () => {
    const { app } = router();
    answerFirst(0);
    const { id, input_file_id } = await client.start(lines(6));
    await until(() => silent.length === 4);
    await resealed(id, input_file_id);
    await app.database.rows(TAKEN_OVER, [owner.account]);
    await client.openai.batches.cancel(id);
    expect(await client.ended(id)).toMatchObject({
      status: "cancelled",
      request_counts: { total: 6, completed: 0, failed: 0 },
    });
    await requireAvailable(app, owner, { available: START });
  });
});

test("files that expire while a batch runs are stored until it has ended, and its answers for their whole time", async () => {
  const { app } = router();
  const { openai } = client;
  answerFirst(3);
  const input = await openai.files.create({
    file: new File([lines(10)], "input.jsonl"),
    purpose: "batch",
    expires_after: HOUR,
  });
  expect((input.expires_at ?? 0) - input.created_at).toBe(HOUR.seconds);
  const { id } = await openai.batches.create({
    input_file_id: input.id,
    endpoint: "/v1/chat/completions",
    completion_window: "24h",
    output_expires_after: HOUR,
  });
  await until(() => silent.length === 4);
  await age(HOUR.seconds + 60);
  await sweep();
  await expect(openai.files.retrieve(input.id)).rejects.toMatchObject({ status: 404 });
  const release = setInterval(() => silent.splice(0).map((answer) => answer()), 10);
  const batch = await client.ended(id);
  clearInterval(release);
  expect(batch).toMatchObject({ status: "completed", request_counts: { total: 10, completed: 10 } });
  const output = await openai.files.retrieve(batch.output_file_id ?? "");
  expect((output.expires_at ?? 0) - output.created_at).toBe(HOUR.seconds);
  expect(output.created_at).toBeGreaterThanOrEqual(batch.finalizing_at ?? Number.POSITIVE_INFINITY);
  expect(await client.lines(output.id)).toHaveLength(10);
  await sweep();
  expect(await stored()).toEqual({ files: 1, filenames: output.filename, parts: 10 });

  await age(HOUR.seconds + 60);
  await expect(openai.files.content(output.id)).rejects.toMatchObject({
    status: 404,
    code: "file_not_found",
  });
  await expect(openai.files.retrieve(output.id)).rejects.toMatchObject({ status: 404 });
  await expect(openai.files.delete(output.id)).rejects.toMatchObject({ status: 404 });
  expect((await openai.files.list()).data).toEqual([]);
  await sweep();
  expect(await stored()).toEqual({ files: 0, filenames: null, parts: 0 });
  // The batch itself stays.
  expect(await openai.batches.retrieve(id)).toMatchObject({ status: "completed", output_file_id: output.id });
  expect(await leftOf(app.database, owner.account)).toEqual({ deposit: `${START - 10n * COST}`, held: "0" });
});

test("the files of a batch are deleted by their owner, its input also while it runs", async () => {
  const { openai } = client;
  answerFirst(3);
  const input = await client.upload(
    inputOf([...numbers(9).map((n) => chatLine(n, MODEL)), chatLine(10, MODEL, { stream: true })]),
  );
  const { id } = await openai.batches.create({
    input_file_id: input.id,
    endpoint: "/v1/chat/completions",
    completion_window: "24h",
  });
  await until(() => silent.length === 4);
  expect(await openai.files.delete(input.id)).toMatchObject({ deleted: true });
  await sweep();
  await expect(openai.files.content(input.id)).rejects.toMatchObject({ status: 404 });
  const release = setInterval(() => silent.splice(0).map((answer) => answer()), 10);
  const batch = await client.ended(id);
  clearInterval(release);
  expect(batch.request_counts).toEqual({ total: 10, completed: 9, failed: 1 });
  for (const file of [batch.output_file_id, batch.error_file_id]) {
    expect(await openai.files.delete(file ?? "")).toMatchObject({ deleted: true });
    await expect(openai.files.content(file ?? "")).rejects.toMatchObject({ status: 404 });
  }
  await sweep();
  expect(await stored()).toEqual({ files: 0, filenames: null, parts: 0 });
});

/** Makes the account's files older, seconds. */
async function age(seconds: number): Promise<void> {
  await router().app.database.rows(
    `update client_file set created_at = created_at - make_interval(secs => $2::integer),
       expires_at = expires_at - make_interval(secs => $2::integer)
     where account = $1::text`,
    [owner.account, seconds],
  );
}

/** What a worker does once a minute. */
async function sweep(): Promise<void> {
  await new FileSweep(router().app.database, createLogger("silent"), IS_READ).sweep();
}

/** What the database has of the account's files. */
async function stored() {
  const [row] = await router().app.database.rows(
    `select count(distinct f.id)::int as files, string_agg(distinct filename, ' ') as filenames,
       count(p.n)::int as parts
     from client_file f left join client_file_part p on p.file_id = f.id where f.account = $1::text`,
    [owner.account],
  );
  return row;
}

/** How often workers have claimed the account's jobs. */
async function claimsOf(account: string): Promise<number> {
  const [row] = await router().app.database.rows<{ fence: number }>(
    "select fence from job where account = $1::text",
    [account],
  );
  return row?.fence ?? 0;
}

const TAKEN_OVER = `
  update job set leased_until = now() - interval '1 minute', fence = fence + 1
  where account = $1::text and state = 'processing'`;
const TAKEN_OVER_LATE = `
  update job set deadline = now() - interval '1 minute', leased_until = now() - interval '1 minute', fence = fence + 1
  where account = $1::text and state = 'processing'`;
