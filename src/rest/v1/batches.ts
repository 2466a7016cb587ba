import { z } from "zod";
import { readFileId } from "../../client-files/file-id.ts";
import { BATCH_ENDPOINTS, BATCH_JOB, COMPLETION_WINDOW } from "../../inference/batches/batch.ts";
import { readBatchId } from "../../inference/batches/batch-id.ts";
import { jobCursor } from "../../jobs/jobs.service.ts";
import { permitSpender } from "../../keys/auth/permissions.ts";
import { integerParameter } from "../integer-parameter.ts";
import { defineRoute, json } from "../route.ts";
import { BATCH, METADATA, viewBatch } from "./batches/batch-shape.ts";
import { pageOf, viewPage } from "./batches/file-shape.ts";

/**
 * POST /v1/batches: a batch of requests in OpenAI's shape, which runs with the key of the caller. Beyond SPEC
 * (schema/choices.md).
 */
export const createBatch = defineRoute({
  method: "POST",
  url: "/v1/batches",
  summary: "Create a batch",
  access: "job.submit",
  repetition: "replayed",
  body: z.strictObject({
    input_file_id: z.string().max(64),
    endpoint: z.enum(BATCH_ENDPOINTS),
    completion_window: z.literal(COMPLETION_WINDOW),
    metadata: METADATA.nullish(),
    output_expires_after: z
      .strictObject({ anchor: z.literal("created_at"), seconds: z.int().min(3_600).max(2_592_000) })
      .nullish(),
  }),
  answer: { json: BATCH },
  async handle(app, { principal, body }) {
    const batch = await app.batches.create(permitSpender(principal, "job.submit"), {
      inputFileId: readFileId(body.input_file_id),
      endpoint: body.endpoint,
      metadata: body.metadata ?? null,
      outputSeconds: body.output_expires_after?.seconds,
    });
    return json(viewBatch(batch));
  },
});

/** GET /v1/batches: the caller's batches, newest first. An `sk-` key lists those that it created. */
export const listBatches = defineRoute({
  method: "GET",
  url: "/v1/batches",
  summary: "List batches",
  access: "job.read",
  query: z.strictObject({
    after: z.string().max(64).optional(),
    limit: integerParameter(1, 100, 20),
  }),
  answer: { json: pageOf(BATCH) },
  async handle(app, { reach, query: { after, limit } }) {
    const from = after === undefined ? undefined : await app.batches.get(reach, readBatchId(after), "after");
    const page = { first: limit, after: from && jobCursor(BATCH_JOB, from.job) };
    const { rows, hasNextPage } = await app.batches.list(reach, page);
    return json(viewPage(rows.map(viewBatch), hasNextPage));
  },
});

/** GET /v1/batches/{id}: one batch. */
export const getBatch = defineRoute({
  method: "GET",
  url: "/v1/batches/:id",
  summary: "Retrieve a batch",
  access: "job.read",
  answer: { json: BATCH },
  async handle(app, { reach, params: { id = "" } }) {
    return json(viewBatch(await app.batches.get(reach, readBatchId(id))));
  },
});

/** POST /v1/batches/{id}/cancel: sends no more requests of a batch. Those that were sent are answered and billed. */
export const cancelBatch = defineRoute({
  method: "POST",
  url: "/v1/batches/:id/cancel",
  summary: "Cancel a batch",
  access: "job.cancel",
  repetition: "replayed",
  answer: { json: BATCH },
  async handle(app, { reach, params: { id = "" } }) {
    return json(viewBatch(await app.batches.cancel(reach, readBatchId(id))));
  },
});
