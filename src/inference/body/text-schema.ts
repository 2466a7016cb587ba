import { z } from "zod";
import { ElidedText, isText } from "./elided-text.ts";

/** A text that the router reads, and so no long one of a large body. */
export const readText = z.string({ error: ({ input }) => tooLong(input, "less than 1,024 bytes") });

/** A text of 1 to `max` characters that the router reads. */
export function shortText(max: number) {
  return z
    .string({ error: ({ input }) => tooLong(input, `1 to ${max} characters`) })
    .min(1)
    .max(max);
}

/** A text of any length that is content: the router only passes it on. */
export const contentText = z.unknown().refine(isText, "must be a text").meta({ type: "string" });

function tooLong(input: unknown, limit: string): string | undefined {
  return input instanceof ElidedText ? `must have ${limit}` : undefined;
}
