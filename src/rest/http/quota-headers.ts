import type { Quota } from "../../keys/auth/rate-limit.ts";

/** The documented rate-limit headers (facts 1.3). */
export function quotaHeaders({ limit, remaining, resetAt }: Quota): Readonly<Record<string, string>> {
  return {
    "x-ratelimit-limit-requests": String(limit),
    "x-ratelimit-remaining-requests": String(remaining),
    "x-ratelimit-reset-requests": resetAt.toISOString(),
  };
}
