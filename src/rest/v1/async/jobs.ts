import { z } from "zod";
import { providersOf } from "../../../inference/images/jobs/image-job-plan.ts";
import type { ImageJobOutcome } from "../../../inference/images/jobs/image-job-results.service.ts";
import { IMAGE_JOB } from "../../../inference/images/jobs/image-jobs.service.ts";
import { JOB_STATES } from "../../../jobs/job.state.ts";
import { type JobView, jobCursor, jobNotFound } from "../../../jobs/jobs.service.ts";
import type { Answer } from "../../http/answer.ts";
import { integerParameter } from "../../integer-parameter.ts";
import { defineRoute, json } from "../../route.ts";
import { ASYNC_JOB, JOB_LIST, jobAnswer } from "./job-shape.ts";

const NO_RESULT = "The result is no longer stored.";

const query = z.object({
  provider_address: z
    .string()
    .regex(/^0x[0-9a-fA-F]{40}$/, "must be an address")
    .transform((text) => text.toLowerCase())
    .optional(),
  model: z.string().optional(),
  verify_tee: z.enum(["true", "false"]).optional(),
});

/**
 * GET /v1/async/jobs (not in the original API): the caller's jobs without their images, newest first. An `sk-` key lists
 * the jobs that it created.
 */
export const listAsyncJobs = defineRoute({
  method: "GET",
  url: "/v1/async/jobs",
  summary: "List image jobs",
  access: "job.read",
  query: z.strictObject({
    status: z.enum([...JOB_STATES, "all"]).default("all"),
    limit: integerParameter(1, 100, 20),
    cursor: z.string().max(512).optional().meta({ minLength: 1 }),
  }),
  answer: JOB_LIST,
  async handle(app, { reach, query: { status, limit, cursor } }) {
    const filter = status === "all" ? {} : { states: [status] };
    const { rows, hasNextPage } = await app.jobs.list(reach, { first: limit, after: cursor }, { filter });
    const last = rows.at(-1);
    return json({
      object: "list",
      data: rows.map((job) =>
        fieldsOf(job, { isGone: job.state === "completed" && job.resultBytes === null }),
      ),
      next_cursor: hasNextPage && last ? jobCursor(IMAGE_JOB, last) : null,
    });
  },
});

/** GET /v1/async/jobs/{jobId} (SPEC 4.1): the state of a job, and its images once it is completed. Not billed. */
export const getAsyncJob = defineRoute({
  method: "GET",
  url: "/v1/async/jobs/:jobId",
  summary: "Retrieve an image job",
  access: "job.content",
  query,
  answer: ASYNC_JOB,
  async handle(app, { reach, params, reserve, query: { provider_address: provider, verify_tee } }) {
    const outcome = await app.imageJobResults.outcome(reach, params.jobId ?? "", {
      verifyTee: verify_tee === "true",
      // Once as it is read, once as it is sent.
      reserve: (bytes) => reserve(2 * bytes),
    });
    if (provider !== undefined && !providersOf(outcome.job).includes(provider)) throw jobNotFound();
    return show(outcome);
  },
});

/** DELETE /v1/async/jobs/{jobId} (not in the original API): cancels a pending job. */
export const cancelAsyncJob = defineRoute({
  method: "DELETE",
  url: "/v1/async/jobs/:jobId",
  summary: "Cancel a pending image job",
  access: "job.cancel",
  answer: ASYNC_JOB,
  async handle(app, { reach, params }) {
    const job = await app.imageJobCancellation.cancel(reach, params.jobId ?? "");
    return show({ job, result: undefined, trace: undefined });
  },
});

function show({ job, result, trace }: ImageJobOutcome): Answer {
  const isGone = job.state === "completed" && result === undefined;
  const fields = { ...fieldsOf(job, { isGone }), ...(trace && { x_0g_trace: trace }) };
  return jobAnswer(job, fields, { data: result });
}

function fieldsOf(job: JobView, { isGone }: { readonly isGone: boolean }) {
  const errorMessage = isGone ? NO_RESULT : job.state === "failed" ? job.step.errorMessage : null;
  return {
    jobId: job.id,
    status: job.state,
    provider_address: job.step.provider,
    createdAt: job.createdAt.toISOString(),
    updatedAt: job.updatedAt.toISOString(),
    ...(errorMessage !== null && { errorMessage }),
  };
}
