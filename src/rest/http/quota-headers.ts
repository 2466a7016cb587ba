import QuickLru from "quick-lru";
import type { Quota } from "../../keys/auth/rate-limit.ts";

/** The times at which windows end, as text: all requests of a window state the same one. */
const resetTimes = new QuickLru<number, string>({ maxSize: 10_000 });

/** The documented rate-limit headers (facts 1.3). */
export function quotaHeaders({ limit, remaining, resetAt }: Quota): Readonly<Record<string, string>> {
  return {
    "x-ratelimit-limit-requests": String(limit),
    "x-ratelimit-remaining-requests": String(remaining),
    "x-ratelimit-reset-requests": textOf(resetAt),
  };
}

function textOf(time: Date): string {
  const ms = time.getTime();
  const known = resetTimes.get(ms);
  if (known !== undefined) return known;
  const text = time.toISOString();
  resetTimes.set(ms, text);
  return text;
}
