import { z } from "zod";
import { count, trace, usageCost } from "../../wire.ts";

const usage = z.looseObject({
  prompt_tokens: count,
  completion_tokens: count,
  total_tokens: count,
  ...usageCost,
});

const message = z.looseObject({ role: z.string(), content: z.unknown().optional() });

/** The response of POST /v1/chat/completions: the provider's completion, with its cost (facts 1.3). */
const CHAT_COMPLETION = z
  .looseObject({
    id: z.string(),
    object: z.literal("chat.completion"),
    created: z.int(),
    model: z.string(),
    choices: z.array(
      z.looseObject({ index: z.int(), message, finish_reason: z.string().nullable().optional() }),
    ),
    usage: usage.optional(),
    x_0g_trace: trace,
  })
  .meta({ id: "ChatCompletion" });

/** A complete response, or server-sent events of OpenAI's chunks that end with `[DONE]`. */
export const CHAT_ANSWER = { json: CHAT_COMPLETION, media: { "text/event-stream": z.string() } };
