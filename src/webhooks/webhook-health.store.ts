import type { Queries } from "../db/database.ts";
import type { DisabledReason } from "./webhook.ts";

/** A webhook whose receiver fails, or that is disabled. The path of its URL, which may be secret, is left out. */
export type FaultyWebhook = {
  readonly id: string;
  readonly account: string;
  readonly name: string;
  /** The host and the port of its URL. */
  readonly host: string;
  /** How many attempts in a row failed. */
  readonly failures: number;
  /** Since when it fails, or is disabled. */
  readonly since: Date;
  /** Null while it is enabled. */
  readonly disabledReason: DisabledReason | null;
};

/** How webhooks of all accounts fare. */
export type WebhookHealth = {
  /** Enabled webhooks with events to deliver, those whose last attempt failed, and disabled ones: at most 10,000 each. */
  readonly pending: number;
  readonly failing: number;
  readonly disabled: number;
  /** Those that fail, the longest first, and then those that were disabled, the latest first: at most 20 each. */
  readonly faulty: readonly FaultyWebhook[];
};

const MAX_COUNTED = 10_000;
const MAX_LISTED = 20;

/** Reads how webhooks fare, each part from its own partial index. */
export async function readWebhookHealth(queries: Queries): Promise<WebhookHealth> {
  const [[counts], rows] = await Promise.all([
    queries.rows<{ pending: number; failing: number; disabled: number }>(COUNTS),
    queries.rows<FaultyRow>(FAULTY),
  ]);
  return { ...(counts ?? { pending: 0, failing: 0, disabled: 0 }), faulty: rows.map(toFaulty) };
}

/** The account of a webhook; undefined if there is none with this id. */
export async function accountOfWebhook(queries: Queries, id: string): Promise<string | undefined> {
  const [row] = await queries.rows<{ account: string }>("select account from webhook where id = $1::uuid", [
    id,
  ]);
  return row?.account;
}

type FaultyRow = Omit<FaultyWebhook, "host" | "since" | "disabledReason"> & {
  readonly url: string;
  readonly since_ms: string;
  readonly disabled_reason: DisabledReason | null;
};

function toFaulty({ url, since_ms, disabled_reason: disabledReason, ...row }: FaultyRow): FaultyWebhook {
  return { ...row, host: new URL(url).host, since: new Date(Number(since_ms)), disabledReason };
}

const counted = (condition: string) =>
  `(select count(*)::int from (select 1 from webhook where ${condition} limit ${MAX_COUNTED}) counted)`;

const COUNTS = `
  select ${counted("disabled_at is null and pending_position > position")} as pending,
    ${counted("disabled_at is null and failures > 0")} as failing,
    ${counted("disabled_at is not null")} as disabled`;

const COLUMNS = "id::text as id, account, name, url, failures, disabled_reason";
const msOf = (column: string) => `floor(extract(epoch from ${column}) * 1000)::bigint::text as since_ms`;

const FAULTY = `
  (select ${COLUMNS}, ${msOf("coalesce(first_failed_at, created_at)")} from webhook
    where disabled_at is null and failures > 0 order by first_failed_at limit ${MAX_LISTED})
  union all
  (select ${COLUMNS}, ${msOf("disabled_at")} from webhook
    where disabled_at is not null order by disabled_at desc limit ${MAX_LISTED})`;
