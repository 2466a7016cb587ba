import { z } from "zod";
import { withVerification } from "../../../inference/guardrails/guarded-request.ts";
import { EDIT_FORM, readImageEdit } from "../../../inference/images/image-request.ts";
import { callerOf, contentTypeOf, inferenceBytes } from "../../inference-call.ts";
import { defineRoute } from "../../route.ts";
import { routingHeaders } from "../../routing-headers.ts";
import { IMAGE_ANSWER } from "./image-shape.ts";

const MAX_EDIT_BYTES = 25 * 1_048_576;

/** POST /v1/images/edits (facts 1.1): images edited by a prompt, sent as a form. */
export const editImages = defineRoute({
  method: "POST",
  url: "/v1/images/edits",
  summary: "Edit images",
  access: "inference.run",
  isAdmitted: true,
  headers: routingHeaders,
  query: z.object({ verify_tee: z.enum(["true", "false"]).optional() }),
  body: "bytes",
  bodies: { "multipart/form-data": EDIT_FORM },
  answer: IMAGE_ANSWER,
  bodyLimitBytes: MAX_EDIT_BYTES,
  repetition: "billed",
  async handle(app, call) {
    const caller = callerOf(call);
    const contentType = contentTypeOf(call, ["multipart/form-data"]);
    const read = await readImageEdit(call.body, contentType);
    const request = call.query.verify_tee === "true" ? withVerification(read) : read;
    return inferenceBytes(
      await app.images.create(request, caller, { signal: call.signal, preferences: call.headers }),
    );
  },
});
