import { expect, test } from "vitest";
import { BatchClient, chatLine, inputOf, leftOf, numbers } from "../../support/batches/batch-world.ts";
import { completion, sendJson, USAGE } from "../../support/inference/scripted-provider.ts";
import { PRICES, useRouter } from "../../support/router.ts";
import { until } from "../../support/until.ts";

const MODEL = "batch-model";
const START = 10_000_000n;
const COST =
  BigInt(USAGE.prompt_tokens) * PRICES[0].prompt + BigInt(USAGE.completion_tokens) * PRICES[0].completion;

const router = await useRouter({ models: [MODEL], settings: { BATCH_LINES_PARALLEL: "4" } });

test("an error file has its lines in the order of the input, also those between which others failed earlier", async () => {
  const { app, scripted, seed } = router();
  const owner = await seed(START);
  const client = new BatchClient(router(), owner);
  const cancelled = Promise.withResolvers<void>();
  for (const { scripts } of scripted)
    scripts.set(MODEL, async ({ bytes }, response) => {
      const n = Number(/Question (\d+)/.exec(bytes.toString())?.[1]);
      if (n === 2) return sendJson(response, 400, { error: { message: "Not this one." } });
      if (n === 4) return sendJson(response, 200, completion());
      // Would be sent again, if the batch were not cancelled meanwhile.
      await cancelled.promise;
      sendJson(response, 503, { error: { message: "Busy." } });
    });
  const { id } = await client.start(inputOf(numbers(6).map((n) => chatLine(n, MODEL))));
  await until(async () => {
    const { request_counts: counts } = await client.openai.batches.retrieve(id);
    return counts?.failed === 1 && counts.completed === 1;
  });
  await client.openai.batches.cancel(id);
  cancelled.resolve();
  const batch = await client.ended(id);
  expect(batch).toMatchObject({
    status: "cancelled",
    request_counts: { total: 6, completed: 1, failed: 5 },
  });
  const lines = await client.lines(batch.error_file_id);
  expect(lines.map(({ custom_id, error }) => [custom_id, error?.code ?? "answered"])).toEqual([
    ["request-1", "batch_cancelled"],
    ["request-2", "answered"],
    ["request-3", "batch_cancelled"],
    ["request-5", "batch_cancelled"],
    ["request-6", "batch_cancelled"],
  ]);
  expect(await leftOf(app.database, owner.account)).toEqual({ deposit: `${START - COST}`, held: "0" });
});
