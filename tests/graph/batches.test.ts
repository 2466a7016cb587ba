// @module-tag large
import { expect, test } from "vitest";
import { BatchClient, chatLine, inputOf, numbers } from "../support/batches/batch-world.ts";
import { ask, type Following, followEvents } from "../support/clients/graph-client.ts";
import { USAGE } from "../support/inference/scripted-provider.ts";
import { PRICES, useRouter } from "../support/router.ts";
import { until } from "../support/until.ts";

const MODEL = "batch-model";
const COST =
  BigInt(USAGE.prompt_tokens) * PRICES[0].prompt + BigInt(USAGE.completion_tokens) * PRICES[0].completion;
const router = await useRouter({ models: [MODEL] });

type Change = {
  readonly cursor: string;
  readonly batchId: string;
  readonly sequence: number;
  readonly status: string;
  readonly requestCount: number;
  readonly completedCount: number;
  readonly failedCount: number;
};

const FIELDS = "cursor batchId sequence status requestCount completedCount failedCount cost";
const changesOf = ({ results }: Following): readonly Change[] =>
  results.map(({ data }) => data.batchChanged ?? data.batchProgress);

test("the changes of a batch are followed, resumed after a cursor, end with the batch, and image jobs do not see them", async () => {
  const { origin, seed } = router();
  const owner = await seed();
  const client = new BatchClient(router(), owner);
  const all = await followEvents(origin, owner.secret, `subscription { batchChanged { ${FIELDS} } }`);
  const images = await followEvents(origin, owner.secret, "subscription { imageJobChanged { jobId } }");
  const lines = [...numbers(30).map((n) => chatLine(n, MODEL)), chatLine(31, MODEL, { stream: true })];
  const batch = await client.run(inputOf(lines));
  await until(() => changesOf(all).at(-1)?.status === "COMPLETED");
  const changes = changesOf(all);
  expect(changes.map(({ batchId }) => batchId)).toEqual(changes.map(() => batch.id));
  // It begins with the state at the moment of the subscription.
  const from = changes[0]?.sequence ?? 0;
  expect(changes.map(({ sequence }) => sequence)).toEqual(changes.map((_, n) => from + n));
  expect(changes.at(-1)).toMatchObject({
    requestCount: 31,
    completedCount: 30,
    failedCount: 1,
    cost: `${30n * COST}`,
  });

  const [first, ...later] = changes;
  const query = `subscription { batchProgress(id: "${batch.id}", after: "${first?.cursor}") { ${FIELDS} } }`;
  const resumed = await followEvents(origin, owner.secret, query);
  // At least once: a change that the state at the subscription already had may follow it.
  const afterFirst = () => changesOf(resumed).filter(({ sequence }) => sequence > from);
  await until(() => afterFirst().length === later.length);
  expect(afterFirst()).toEqual(later);

  const answer = await ask(
    origin,
    owner.secret,
    `{ batch(id: "${batch.id}") { batchId status endpoint requestCount completedCount failedCount cost inputTokens outputTokens outputFileId
        errorFileId inputFileId errors { code } metadata }
      batches(first: 1) { nodes { batchId } totalCount } imageJobs { nodes { id } } }`,
  );
  expect(answer.errors).toBeUndefined();
  expect(answer.data).toMatchObject({
    batch: {
      batchId: batch.id,
      status: "COMPLETED",
      endpoint: "/v1/chat/completions",
      requestCount: 31,
      completedCount: 30,
      failedCount: 1,
      cost: `${30n * COST}`,
      inputTokens: `${30 * USAGE.prompt_tokens}`,
      outputTokens: `${30 * USAGE.completion_tokens}`,
      outputFileId: batch.output_file_id,
      errorFileId: batch.error_file_id,
      inputFileId: batch.input_file_id,
      errors: [],
      metadata: null,
    },
    batches: { nodes: [{ batchId: batch.id }], totalCount: 1 },
    imageJobs: { nodes: [] },
  });
  const refused = await ask(
    origin,
    owner.secret,
    `mutation { cancelBatch(input: { id: "${batch.id}" }) { batch { status } userErrors { code } } }`,
  );
  expect(refused.data.cancelBatch).toEqual({ batch: null, userErrors: [{ code: "batch_not_cancellable" }] });
  const stranger = await seed();
  expect(
    (await ask(origin, stranger.secret, `{ batch(id: "${batch.id}") { status } }`)).data.batch,
  ).toBeNull();
  expect(images.results).toEqual([]);
  await Promise.all([all, images, resumed].map((following) => following.stop()));
});
