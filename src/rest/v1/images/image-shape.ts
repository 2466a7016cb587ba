import { z } from "zod";
import { trace, usageCost } from "../../wire.ts";

/** The response of the image endpoints: the provider's images, with their cost (facts 1.3). */
export const IMAGE_ANSWER = {
  json: z
    .looseObject({
      created: z.int().optional(),
      data: z.array(z.looseObject({ b64_json: z.string() })),
      usage: z
        .looseObject(usageCost)
        .nullable()
        .optional()
        .meta({ description: "The provider's own usage, if it reports one." }),
      x_0g_trace: trace,
    })
    .meta({ id: "Images" }),
};
