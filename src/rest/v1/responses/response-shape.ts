import { z } from "zod";
import { count, trace, usageCost } from "../../wire.ts";

const usage = z.looseObject({
  input_tokens: count,
  input_tokens_details: z.looseObject({ cached_tokens: count, cache_write_tokens: count.optional() }),
  output_tokens: count,
  output_tokens_details: z.looseObject({ reasoning_tokens: count }),
  total_tokens: count,
  ...usageCost,
});

/** A response, or server-sent events of its parts, the last of which has it whole. */
export const RESPONSE_ANSWER = {
  json: z
    .looseObject({
      id: z.string(),
      object: z.literal("response"),
      created_at: z.int(),
      status: z.enum(["completed", "incomplete"]),
      incomplete_details: z.looseObject({ reason: z.string() }).nullable(),
      model: z.string(),
      output: z.array(z.looseObject({ type: z.string(), id: z.string() })),
      usage,
      x_0g_trace: trace,
    })
    .meta({ id: "ModelResponse" }),
  media: { "text/event-stream": z.string() },
};
