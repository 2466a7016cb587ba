const MAX_RETRY_AFTER_MS = 3_600_000;

/**
 * Parses a `Retry-After` header, seconds or a date, to milliseconds, at most an hour; undefined if invalid. `sentAt` is
 * the `Date` of the response: clocks of machines differ, so a date is compared with the sender's own time.
 */
export function retryAfterOf(header: string | undefined, sentAt?: string): number | undefined {
  if (header === undefined) return undefined;
  const text = header.trim();
  if (/^\d{1,9}(\.\d{1,3})?$/.test(text)) return Math.min(Number(text) * 1_000, MAX_RETRY_AFTER_MS);
  const at = /^[A-Za-z]{3}, /.test(text) ? Date.parse(text) : Number.NaN;
  const sentMs = Date.parse(sentAt ?? "");
  const nowMs = Number.isNaN(sentMs) ? Date.now() : sentMs;
  return Number.isNaN(at) ? undefined : Math.min(Math.max(0, at - nowMs), MAX_RETRY_AFTER_MS);
}
