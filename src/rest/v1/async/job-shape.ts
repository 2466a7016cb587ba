import { z } from "zod";
import { JOB_STATES } from "../../../jobs/job.state.ts";
import type { JobView } from "../../../jobs/jobs.service.ts";
import type { Answer } from "../../http/answer.ts";
import { listOf } from "../../route.ts";
import { address, timestamp, trace } from "../../wire.ts";

/** The polling interval suggested to clients, seconds. */
const RETRY_AFTER_SECONDS = 2;

const status = z.enum(JOB_STATES);

/** The response to a submission (facts 1.3). */
export const SUBMITTED_JOB = {
  status: 202,
  json: z.strictObject({ jobId: z.uuid(), status, provider_address: address }).meta({ id: "SubmittedJob" }),
};

const state = {
  jobId: z.uuid(),
  status,
  provider_address: address,
  createdAt: timestamp,
  updatedAt: timestamp,
  errorMessage: z.string().optional(),
};

/** A page of jobs; `next_cursor` is null on the last one. */
export const JOB_LIST = {
  json: z.strictObject({
    ...listOf(z.strictObject(state).meta({ id: "ListedAsyncJob" })),
    next_cursor: z.string().nullable(),
  }),
};

/** The state of a job (facts 1.3): the images of a completed one are at `data.data`, as long as they are stored. */
export const ASYNC_JOB = {
  json: z
    .strictObject({
      ...state,
      data: z
        .looseObject({ created: z.int(), data: z.array(z.looseObject({ b64_json: z.string() })) })
        .optional(),
      x_0g_trace: trace.optional(),
    })
    .meta({ id: "AsyncJob" }),
};

/** A job as an answer: `fields`, and a member `data` that is already JSON. */
export function jobAnswer(
  job: JobView,
  fields: object,
  { status = 200, data }: { status?: number; data?: string | undefined } = {},
): Answer {
  const text = JSON.stringify(fields);
  const whole = data === undefined ? text : `${text.slice(0, -1)},"data":${data}}`;
  const headers: Record<string, string> =
    job.finishedAt === null ? { "retry-after": String(RETRY_AFTER_SECONDS) } : {};
  return { kind: "bytes", status, bytes: Buffer.from(whole), headers };
}

/** The answer to a submission: the state of the job when it was accepted. */
export function submittedJob(job: JobView): Answer {
  const fields = { jobId: job.id, status: "pending", provider_address: job.step.provider };
  return jobAnswer(job, fields, { status: 202 });
}
