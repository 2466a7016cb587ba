import { IMAGE_REQUEST } from "../../../../inference/images/image-request.ts";
import { callerOf } from "../../../inference-call.ts";
import { defineRoute } from "../../../route.ts";
import { routingHeaders } from "../../../routing-headers.ts";
import { SUBMITTED_JOB, submittedJob } from "../job-shape.ts";

/** POST /v1/async/images/generations (SPEC 4.1): a job that makes images from a prompt. */
export const submitImages = defineRoute({
  method: "POST",
  url: "/v1/async/images/generations",
  summary: "Submit a job that creates images",
  access: "job.submit",
  isAdmitted: true,
  headers: routingHeaders,
  body: "bytes",
  bodies: { "application/json": IMAGE_REQUEST },
  answer: SUBMITTED_JOB,
  repetition: "replayed",
  async handle(app, call) {
    const request = {
      operation: "generations",
      body: call.body,
      contentType: "application/json",
      preferences: call.headers,
    } as const;
    return submittedJob(await app.imageJobs.submit(request, callerOf(call, { action: "job.submit" })));
  },
});
