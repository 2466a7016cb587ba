import { createHash } from "node:crypto";

/** What a month is closed of: the requests that ended in it, or the transfers of the ledger. */
export type ClosingKind = "requests" | "ledger";

/** A UTC month as `YYYY-MM`. */
export type Month = string;

/** The month that has this time. */
export function monthOf(at: Date): Month {
  return at.toISOString().slice(0, 7);
}

/** The month `months` after this one, or before it if that is negative. */
export function addMonths(month: Month, months: number): Month {
  const start = startOf(month);
  start.setUTCMonth(start.getUTCMonth() + months);
  return monthOf(start);
}

/** The first moment of a month. */
export function startOf(month: Month): Date {
  return new Date(`${month}-01T00:00:00.000Z`);
}

/** The newest month that may be closed at `now` if the current month and `kept` whole months before it are kept. */
export function newestDue(now: Date, kept: number): Month {
  return addMonths(monthOf(now), -kept - 1);
}

/** What a month's hash is over, apart from the hash of the previous month. */
export type ClosedContent = {
  readonly kind: ClosingKind;
  readonly month: Month;
  readonly rows: number;
  /** SHA-256 of the uncompressed archive, in hexadecimal. */
  readonly contentHash: string;
};

/** The previous hash of the first month that is closed. */
export const FIRST_HASH = "0".repeat(64);

/** The hash of a closed month: SHA-256 over the lines previous hash, kind, month, rows and content hash. */
export function hashOfMonth(previousHash: string, { kind, month, rows, contentHash }: ClosedContent): string {
  const lines = [previousHash, kind, month, rows, contentHash].map((line) => `${line}\n`);
  return createHash("sha256").update(lines.join("")).digest("hex");
}
