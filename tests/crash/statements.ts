import type { StatementTrip } from "./points.ts";

/** How the product's statements are recognised in its own text. A change of their SQL is a change here. */
const STATEMENTS = {
  hold: /insert into allotment\b/,
  settlement: /insert into inference_request as r\b/,
  claim: /set state = 'processing', fence/,
} as const satisfies Record<StatementTrip["statement"], RegExp>;

/** The statements that wait for time to pass: for the expiry of what is held, and of the leases of jobs. */
const EXPIRED = /from (?:hold where state = 'open' and|process_lease\s+where) expires_at < now\(\)/;
const EXPIRED_LEASES = /leased_until < now\(\)/;

/** More than the hold of a chat lasts, less than the hold of an image job does. */
const LATER = "$& + interval '15 minutes'";

/** Whether a text is the statement of a trip. */
export function isStatement(text: string, { statement }: StatementTrip): boolean {
  return STATEMENTS[statement].test(text);
}

/** As if a quarter of an hour were between the kill and the restart. */
export class TimeGap {
  #isOver = false;
  #isClaimed = false;

  /**
   * The text to run. What the process before held is found until `end`; leases only by the first claim, as the next one
   * would find those of this process as well.
   */
  shift(text: string): string {
    if (!this.#isOver && EXPIRED.test(text)) return text.replace(EXPIRED, LATER);
    if (this.#isClaimed || !EXPIRED_LEASES.test(text)) return text;
    this.#isClaimed = true;
    return text.replace(EXPIRED_LEASES, LATER);
  }

  /** Called before the process accepts requests of its own. */
  end(): void {
    this.#isOver = true;
  }
}
