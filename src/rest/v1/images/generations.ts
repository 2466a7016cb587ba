import { IMAGE_REQUEST, readImageRequest } from "../../../inference/images/image-request.ts";
import { callerOf, inferenceBytes } from "../../inference-call.ts";
import { defineRoute } from "../../route.ts";
import { routingHeaders } from "../../routing-headers.ts";
import { IMAGE_ANSWER } from "./image-shape.ts";

/** POST /v1/images/generations (SPEC 4.1): images from a prompt, as base64 in the response. */
export const generateImages = defineRoute({
  method: "POST",
  url: "/v1/images/generations",
  summary: "Create images",
  access: "inference.run",
  isAdmitted: true,
  headers: routingHeaders,
  body: "bytes",
  bodies: { "application/json": IMAGE_REQUEST },
  answer: IMAGE_ANSWER,
  repetition: "billed",
  async handle(app, call) {
    const caller = callerOf(call);
    const request = readImageRequest(call.body);
    return inferenceBytes(
      await app.images.create(request, caller, { signal: call.signal, preferences: call.headers }),
    );
  },
});
