import { z } from "zod";
import {
  COMPLETIONS_REQUEST,
  readCompletionsRequest,
} from "../../inference/completions/completions-request.ts";
import { callerOf, inferenceBytes } from "../inference-call.ts";
import { defineRoute } from "../route.ts";
import { routingHeaders } from "../routing-headers.ts";
import { count, trace } from "../wire.ts";

const usage = z.looseObject({ prompt_tokens: count, completion_tokens: count, total_tokens: count });

const COMPLETION = z
  .looseObject({
    id: z.string(),
    object: z.literal("text_completion"),
    created: z.int(),
    model: z.string(),
    choices: z.array(
      z.looseObject({ index: z.int(), text: z.string(), finish_reason: z.string().nullable().optional() }),
    ),
    usage: usage.optional(),
    x_0g_trace: trace,
  })
  .meta({ id: "Completion" });

/**
 * POST /v1/completions: OpenAI's legacy text completions, as one response or a stream of events. Beyond SPEC
 * (schema/choices.md).
 */
export const createCompletion = defineRoute({
  method: "POST",
  url: "/v1/completions",
  summary: "Create a text completion",
  access: "inference.run",
  isAdmitted: true,
  hasFallbackModels: true,
  isCached: true,
  headers: routingHeaders,
  body: "bytes",
  bodies: { "application/json": COMPLETIONS_REQUEST },
  answer: { json: COMPLETION, media: { "text/event-stream": z.string() } },
  takesPrompt: true,
  repetition: "billed",
  async handle(app, call) {
    const { headers: preferences, signal } = call;
    const request = await readCompletionsRequest(call.body);
    const caller = callerOf(call);
    if (request.stream)
      return { kind: "stream", run: (sink) => app.completions.stream(request, caller, sink, preferences) };
    return inferenceBytes(await app.completions.complete(request, caller, signal, preferences));
  },
});
