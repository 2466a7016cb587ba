import { z } from "zod";
import { count, trace, usageCost } from "../../wire.ts";

/** The provider's message with its cost, or server-sent events that end with `message_stop`. */
export const MESSAGE_ANSWER = {
  json: z
    .looseObject({
      id: z.string(),
      type: z.literal("message"),
      role: z.literal("assistant"),
      model: z.string(),
      content: z.array(z.looseObject({ type: z.string() })),
      stop_reason: z.string().nullable(),
      usage: z.looseObject({ input_tokens: count, output_tokens: count, ...usageCost }),
      x_0g_trace: trace,
    })
    .meta({ id: "Message" }),
  media: { "text/event-stream": z.string() },
};
