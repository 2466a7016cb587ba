import { z } from "zod";
import { tally, trace } from "../../wire.ts";

const usage = z.looseObject({ prompt_tokens: tally, completion_tokens: tally, total_tokens: tally });

const message = z.looseObject({ role: z.string(), content: z.unknown() });

/** What POST /v1/chat/completions reads; the fields that are not named are passed on to the provider (facts 1.2). */
export const CHAT_REQUEST = z
  .looseObject({
    model: z.string().min(1).max(256),
    messages: z.array(message).min(1).max(10_000),
    stream: z.boolean().nullish(),
    stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
    max_tokens: z.int().min(1).nullish(),
    max_completion_tokens: z.int().min(1).nullish(),
    n: z.int().min(1).max(128).nullish(),
    verify_tee: z.boolean().nullish(),
  })
  .meta({ id: "ChatRequest" });

/** What it answers: the provider's own completion, with what it cost (facts 1.3). */
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

/** A whole answer, or server-sent events of OpenAI's chunks that end with `[DONE]`. */
export const CHAT_ANSWER = { json: CHAT_COMPLETION, media: { "text/event-stream": z.string() } };
