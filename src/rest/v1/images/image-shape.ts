import { z } from "zod";
import { trace } from "../../wire.ts";

/** What the image endpoints answer: the provider's own images, with what they cost (facts 1.3). */
export const IMAGE_ANSWER = {
  json: z
    .looseObject({
      created: z.int().optional(),
      data: z.array(z.looseObject({ b64_json: z.string() })),
      x_0g_trace: trace,
    })
    .meta({ id: "Images" }),
};
