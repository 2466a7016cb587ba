import { type CacheUse, MAX_CACHE_SECONDS } from "../../inference/answer-cache/cache-request.ts";
import { AppError } from "../../kernel/errors.ts";

const PREFIX = "x-";
const SUFFIX = "-cache";

/**
 * The seconds that a client states in `X-<word>-Cache` under one of the platform's words; undefined without the header.
 * Throws `invalid_parameter` for a malformed value, and for a header that was sent twice.
 */
export function readCacheSeconds(
  rawHeaders: readonly string[],
  words: readonly string[],
): number | undefined {
  let seconds: number | undefined;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? "";
    if ((name[0] !== "x" && name[0] !== "X") || !isCacheHeader(name.toLowerCase(), words)) continue;
    const text = rawHeaders[at + 1] ?? "";
    if (seconds !== undefined) throw malformed(name, "was sent twice");
    seconds = /^[1-9]\d{0,4}$/.test(text) ? Number(text) : undefined;
    if (seconds === undefined || seconds > MAX_CACHE_SECONDS)
      throw malformed(name, `must be a number of seconds from 1 to ${MAX_CACHE_SECONDS}`);
  }
  return seconds;
}

/** What came of a client's cache request, as response headers. */
export function cacheHeaders(use: CacheUse): Readonly<Record<string, string>> {
  if (use.status !== "hit") return { "x-0g-cache": use.status };
  return {
    "x-0g-cache": "hit",
    "x-0g-cache-age": String(use.ageSeconds),
    "x-0g-cached-from": use.requestId,
  };
}

function isCacheHeader(name: string, words: readonly string[]): boolean {
  if (!name.endsWith(SUFFIX)) return false;
  const word = name.slice(PREFIX.length, -SUFFIX.length);
  return words.some((known) => known.toLowerCase() === word);
}

function malformed(name: string, what: string): AppError {
  return new AppError("invalid_parameter", `The header ${name} ${what}.`, { param: name });
}
