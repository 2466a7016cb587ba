import { z } from "zod";

/** OpenAI's API takes 4; servers for open models take more. */
const MAX_STOPS = 64;

/** The texts that end an answer, which the router only counts: the provider validates them. */
export const STOP_SEQUENCES = z
  .unknown()
  .refine((stop) => !Array.isArray(stop) || stop.length <= MAX_STOPS, `must have at most ${MAX_STOPS} items`)
  .optional()
  .meta({
    anyOf: [
      { type: "string" },
      { type: "array", items: { type: "string" }, maxItems: MAX_STOPS },
      { type: "null" },
    ],
    description: `The texts that end the answer, at most ${MAX_STOPS}.`,
  });
