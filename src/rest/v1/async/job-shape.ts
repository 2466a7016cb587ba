import { z } from "zod";
import type { JobView } from "../../../jobs/jobs.service.ts";
import type { Answer } from "../../http/answer.ts";
import { address, instant, trace } from "../../wire.ts";

/** How long a client may wait before it looks again, seconds. */
const LOOK_AGAIN_SECONDS = 2;

const status = z.enum(["pending", "processing", "completed", "failed", "cancelled"]);

/** What taking a job on answers (facts 1.3). */
export const SUBMITTED_JOB = {
  status: 202,
  json: z.strictObject({ jobId: z.uuid(), status, provider_address: address }).meta({ id: "SubmittedJob" }),
};

/** How a job stands (facts 1.3): the images of a completed one are at `data.data`, while they are kept. */
export const ASYNC_JOB = {
  json: z
    .strictObject({
      jobId: z.uuid(),
      status,
      provider_address: address,
      createdAt: instant,
      updatedAt: instant,
      errorMessage: z.string().optional(),
      data: z
        .looseObject({ created: z.int(), data: z.array(z.looseObject({ b64_json: z.string() })) })
        .optional(),
      x_0g_trace: trace.optional(),
    })
    .meta({ id: "AsyncJob" }),
};

/** An answer about a job: `fields`, and a member `data` that is JSON already. */
export function jobAnswer(
  job: JobView,
  fields: object,
  { status = 200, data }: { status?: number; data?: string | undefined } = {},
): Answer {
  const text = JSON.stringify(fields);
  const whole = data === undefined ? text : `${text.slice(0, -1)},"data":${data}}`;
  const headers: Record<string, string> =
    job.finishedAt === null ? { "retry-after": String(LOOK_AGAIN_SECONDS) } : {};
  return { kind: "bytes", status, bytes: Buffer.from(whole), headers };
}

/** The answer to a submission, which tells how the job stood when it was taken on. */
export function submittedJob(job: JobView): Answer {
  const fields = { jobId: job.id, status: "pending", provider_address: job.step.provider };
  return jobAnswer(job, fields, { status: 202 });
}
