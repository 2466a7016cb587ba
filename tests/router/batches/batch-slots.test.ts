import { expect, onTestFinished, test, vi } from "vitest";
import { AheadClock } from "../../support/ahead-clock.ts";
import { BatchClient, chatLine, inputOf, leftOf, numbers } from "../../support/batches/batch-world.ts";
import { completion, sendJson, USAGE } from "../../support/inference/scripted-provider.ts";
import { PRICES, useRouter } from "../../support/router.ts";
import { until } from "../../support/until.ts";

const MODEL = "batch-model";
const START = 10_000_000n;
const COST =
  BigInt(USAGE.prompt_tokens) * PRICES[0].prompt + BigInt(USAGE.completion_tokens) * PRICES[0].completion;

const clock = new AheadClock();
const router = await useRouter({
  models: [MODEL],
  clock,
  settings: { PROVIDER_FIRST_BYTE_MS: "600000", PROVIDER_TOTAL_MS: "600000", BATCH_LINES_PARALLEL: "1" },
});

test("a worker that loses a batch gives the slot of its next line back, and can run it again", async () => {
  const { app, scripted, seed } = router();
  const owner = await seed(START);
  const client = new BatchClient(router(), owner);
  const first = Promise.withResolvers<() => void>();
  let calls = 0;
  for (const { scripts } of scripted)
    scripts.set(MODEL, (_, response) => {
      const answer = () => sendJson(response, 200, completion());
      if (calls++ === 0) first.resolve(answer);
      else answer();
    });
  const { id } = await client.start(inputOf(numbers(3).map((n) => chatLine(n, MODEL))));
  const answer = await first.promise;
  // Another worker has it, which this one notices when it publishes how far the batch has come.
  await app.database.rows(TAKEN, [owner.account]);
  clock.advance(2_000);
  answer();
  await until(async () => (await leftOf(app.database, owner.account))?.deposit === `${START - COST}`);
  await until(() => router().logged().includes("another worker took over a job"));
  await app.database.rows(GIVEN_UP, [owner.account]);
  expect(await client.ended(id)).toMatchObject({ status: "completed", request_counts: { completed: 3 } });
  expect(await leftOf(app.database, owner.account)).toEqual({ deposit: `${START - 3n * COST}`, held: "0" });
});

test("a worker that lost a batch before its check neither removes nor adds lines of it", async () => {
  const { app, scripted, seed } = router();
  const owner = await seed(START);
  const client = new BatchClient(router(), owner);
  const first = Promise.withResolvers<() => void>();
  let calls = 0;
  for (const { scripts } of scripted)
    scripts.set(MODEL, (_, response) => {
      const answer = () => sendJson(response, 200, completion());
      if (calls++ === 0) first.resolve(answer);
      else answer();
    });
  const read = app.clientFiles.read.bind(app.clientFiles);
  const opened = Promise.withResolvers<void>();
  const late = Promise.withResolvers<void>();
  const over = vi.spyOn(app.clientFiles, "read").mockImplementationOnce(async (id) => {
    const reader = await read(id);
    opened.resolve();
    await late.promise;
    return reader;
  });
  onTestFinished(() => over.mockRestore());
  const { id } = await client.start(inputOf(numbers(3).map((n) => chatLine(n, MODEL))));
  await opened.promise;
  // As after an outage of the database: the worker goes on when another one has begun the lines. Until then it may renew
  // its lease, which therefore ends again and again.
  const [held] = await app.database.rows<{ fence: string }>(FENCE, [owner.account]);
  const isTaken = async () => {
    const ended = await app.database.rows(GIVEN_UP_WHILE, [owner.account, held?.fence]);
    return ended.length === 0;
  };
  await until(isTaken);
  const answer = await first.promise;
  const lost = router().logged().split("another worker took over a job").length;
  late.resolve();
  await until(() => router().logged().split("another worker took over a job").length > lost);
  answer();
  expect(await client.ended(id)).toMatchObject({ status: "completed", request_counts: { completed: 3 } });
  expect(await leftOf(app.database, owner.account)).toEqual({ deposit: `${START - 3n * COST}`, held: "0" });
});

const TAKEN = `
  update job set fence = fence + 1, leased_until = now() + interval '1 hour'
  where account = $1::text and state = 'processing' returning 1`;
const FENCE = "select fence::text as fence from job where account = $1::text and state = 'processing'";
const GIVEN_UP = `
  update job set leased_until = now() - interval '1 second' where account = $1::text and state = 'processing' returning 1`;
const GIVEN_UP_WHILE = `
  update job set leased_until = now() - interval '1 second'
  where account = $1::text and state = 'processing' and fence = $2::bigint returning 1`;
