import { z } from "zod";
import { EDIT_FORM } from "../../../../inference/images/image-request.ts";
import { callerOf, contentTypeOf } from "../../../inference-call.ts";
import { defineRoute } from "../../../route.ts";
import { routingHeaders } from "../../../routing-headers.ts";
import { SUBMITTED_JOB, submittedJob } from "../job-shape.ts";

const MAX_EDIT_BYTES = 25 * 1_048_576;

/** POST /v1/async/images/edits (facts 1.1): a job that edits images by a prompt, sent as a form. */
export const submitImageEdit = defineRoute({
  method: "POST",
  url: "/v1/async/images/edits",
  summary: "Submit a job that edits images",
  access: "job.submit",
  isAdmitted: true,
  headers: routingHeaders,
  query: z.object({ verify_tee: z.enum(["true", "false"]).optional() }),
  body: "bytes",
  bodies: { "multipart/form-data": EDIT_FORM },
  answer: SUBMITTED_JOB,
  bodyLimitBytes: MAX_EDIT_BYTES,
  repetition: "replayed",
  async handle(app, call) {
    const caller = callerOf(call, { action: "job.submit" });
    const { headers: preferences } = call;
    const contentType = contentTypeOf(call, ["multipart/form-data"]);
    const verifyTee = call.query.verify_tee === "true";
    const request = { operation: "edits", body: call.body, contentType, preferences, verifyTee } as const;
    return submittedJob(await app.imageJobs.submit(request, caller));
  },
});
