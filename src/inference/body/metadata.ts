import { z } from "zod";
import { faultOfTag, MAX_TAGS, type Tags } from "../../accounts/tags/tags.ts";
import { withAtMost } from "../../kernel/text/characters.ts";
import { readText } from "./text-schema.ts";

/** OpenAI's limits. */
const MAX_PAIRS = 16;
const MAX_KEY_LENGTH = 64;
const MAX_VALUE_LENGTH = 512;

/** The `metadata` of a request, within OpenAI's limits: the names and values of its tags. */
export const METADATA = z
  .record(withAtMost(z.string(), MAX_KEY_LENGTH), withAtMost(readText, MAX_VALUE_LENGTH), {
    error: ({ code }) =>
      code === "invalid_key" ? `a name has at most ${MAX_KEY_LENGTH} characters` : undefined,
  })
  .refine((pairs) => Object.keys(pairs).length <= MAX_PAIRS, `must have at most ${MAX_PAIRS} pairs`)
  .meta({ maxProperties: MAX_PAIRS })
  .nullish()
  .meta({
    description:
      "Up to 16 pairs. The first 10 that can be tags become tags of the request, after those of the header `X-Tag`. A tag has a name of 1 to 64 bytes and a value of 1 to 512 bytes, without control characters.",
  });

/**
 * The tags in the `metadata` of a request: the first ten of its pairs that can be tags. The others are only sent to the
 * provider, so that a client which uses `metadata` for something else is not refused.
 */
export function tagsOf(metadata: z.output<typeof METADATA>): Tags | undefined {
  if (!metadata) return undefined;
  const pairs = Object.entries(metadata).filter(([name, value]) => faultOfTag({ name, value }) === undefined);
  return pairs.length > 0 ? Object.fromEntries(pairs.slice(0, MAX_TAGS)) : undefined;
}
