import { z } from "zod";
import { readImageEdit } from "../../../inference/image-request.ts";
import { callerOf, contentTypeOf, inferenceBytes } from "../../inference-call.ts";
import { defineRoute } from "../../route.ts";
import { readRouting } from "../../routing-headers.ts";
import { IMAGE_ANSWER } from "./image-shape.ts";

const MAX_EDIT_BYTES = 25 * 1_048_576;

/** The form of an edit, for OpenAPI; other fields are passed on to the provider. */
export const EDIT_FORM = z
  .looseObject({
    model: z.string(),
    prompt: z.string(),
    image: z
      .string()
      .meta({ format: "binary", description: "A picture; `image[]` for several, 16 at most." }),
    mask: z.string().optional().meta({ format: "binary" }),
    n: z.string().optional(),
    size: z.string().optional(),
    response_format: z.literal("b64_json").optional(),
  })
  .meta({ id: "ImageEditForm" });

/** POST /v1/images/edits (facts 1.1): pictures changed by a prompt, sent as a form. */
export const editImages = defineRoute({
  method: "POST",
  url: "/v1/images/edits",
  summary: "Edit images",
  access: "inference.run",
  isAdmitted: true,
  query: z.object({ verify_tee: z.enum(["true", "false"]).optional() }),
  body: "bytes",
  bodies: { "multipart/form-data": EDIT_FORM },
  answer: IMAGE_ANSWER,
  bodyLimitBytes: MAX_EDIT_BYTES,
  repetition: "replayed",
  async handle(app, call) {
    const caller = callerOf(call);
    const wishes = readRouting(call.rawHeaders, app.config.PLATFORM_WORDS);
    const contentType = contentTypeOf(call, ["multipart/form-data"]);
    const request = {
      ...(await readImageEdit(call.body, contentType)),
      verifyTee: call.query.verify_tee === "true",
    };
    return inferenceBytes(await app.images.create(request, caller, { signal: call.signal, wishes }));
  },
});
