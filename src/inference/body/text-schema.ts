import { z } from "zod";
import { withAtMost } from "../../kernel/text/characters.ts";
import { MIN_LONG_TEXT } from "../../kernel/text/json-shape.ts";
import { ElidedText, isText, MIN_LONGEST } from "./elided-text.ts";

/** A string that the router reads, which excludes the elided long strings of a large body. */
export const readText = z.string({
  error: ({ input }) => tooLong(input, `less than ${minElided(input).toLocaleString("en-US")} bytes`),
});

/** A string of 1 to `max` characters that the router reads. */
export function shortText(max: number) {
  return withAtMost(z.string({ error: ({ input }) => tooLong(input, `1 to ${max} characters`) }).min(1), max);
}

/**
 * A content string of any length, which the router only forwards. Nothing else of a union is reported as a string that
 * is wrong.
 */
export const contentText = z
  .unknown()
  .refine(isText, { error: "must be a string", abort: true })
  .meta({ type: "string" });

/** The least length of the strings that were elided, as far as this one shows. */
function minElided(input: unknown): number {
  return input instanceof ElidedText && input.length < MIN_LONGEST ? MIN_LONG_TEXT : MIN_LONGEST;
}

function tooLong(input: unknown, limit: string): string | undefined {
  return input instanceof ElidedText ? `must have ${limit}` : undefined;
}
