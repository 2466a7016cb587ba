import { readResponsesRequest } from "../../inference/responses/responses-request.ts";
import { RESPONSES_REQUEST } from "../../inference/responses/responses-schema.ts";
import { callerOf, inferenceBytes } from "../inference-call.ts";
import { defineRoute } from "../route.ts";
import { routingHeaders } from "../routing-headers.ts";
import { RESPONSE_ANSWER } from "./responses/response-shape.ts";

/**
 * POST /v1/responses: OpenAI's Responses, as one response or a stream of events. Beyond SPEC (schema/choices.md).
 */
export const createResponse = defineRoute({
  method: "POST",
  url: "/v1/responses",
  summary: "Create a response",
  access: "inference.run",
  isAdmitted: true,
  hasFallbackModels: true,
  isCached: true,
  headers: routingHeaders,
  body: "bytes",
  bodies: { "application/json": RESPONSES_REQUEST },
  answer: RESPONSE_ANSWER,
  takesPrompt: true,
  repetition: "billed",
  async handle(app, call) {
    const { headers: preferences, signal } = call;
    const request = await readResponsesRequest(call.body);
    const caller = callerOf(call, { metadata: request.chat.tags });
    if (request.chat.stream)
      return { kind: "stream", run: (sink) => app.responses.stream(request, caller, sink, preferences) };
    return inferenceBytes(await app.responses.create(request, caller, { signal, preferences }));
  },
});
