import type { Queries } from "../db/database.ts";
import type { Topic } from "../events/topics.ts";
import type { DeliveryFailure, DisabledReason, Webhook, WebhookAttempt } from "./webhook.ts";
import type { WebhookEvent } from "./webhook-events.ts";

/** A webhook as stored. The signing secret is derived from its id and `secretVersion`. */
export type StoredWebhook = Webhook & { readonly secretVersion: number; readonly topics: readonly Topic[] };

/** What its owner chooses. */
export type WebhookSettings = {
  readonly name: string;
  readonly url: string;
  readonly events: readonly WebhookEvent[];
  readonly topics: readonly Topic[];
  readonly balanceThreshold: bigint | null;
};

/** The webhooks of an account, oldest first. */
export async function listWebhooks(queries: Queries, account: string): Promise<readonly StoredWebhook[]> {
  const rows = await queries.rows<WebhookRow>(LIST, [account]);
  return rows.map(toWebhook);
}

/** The webhook of an account with this id. */
export async function findWebhook(
  queries: Queries,
  account: string,
  id: string,
): Promise<StoredWebhook | undefined> {
  const [row] = await queries.rows<WebhookRow>(FIND, [account, id]);
  return row && toWebhook(row);
}

/** The same, locked until the transaction ends: deliveries to it are not recorded meanwhile. */
export async function lockWebhook(
  tx: Queries,
  account: string,
  id: string,
): Promise<StoredWebhook | undefined> {
  const [row] = await tx.rows<WebhookRow>(`${FIND} for update`, [account, id]);
  return row && toWebhook(row);
}

/**
 * Waits for a scan of the outbox in progress and delays the next one until the transaction ends; returns the position
 * up to which events were matched. What is changed meanwhile is matched with every later event.
 */
export async function lockScan(tx: Queries): Promise<bigint> {
  const [row] = await tx.rows<{ position: string }>(
    "select position::text as position from webhook_scan for update",
  );
  if (!row) throw new Error("webhook_scan has no row");
  return BigInt(row.position);
}

/**
 * Moves an enabled webhook for which no event waits to `scanned`, which `lockScan` returned: otherwise it would be where
 * its last event was, of which the outbox may no longer tell whether later ones have expired.
 */
export async function catchUp(tx: Queries, account: string, id: string, scanned: bigint): Promise<void> {
  await tx.rows(CATCH_UP, [account, id, scanned.toString()]);
}

/** Writes a webhook that receives the events after `position`. */
export async function insertWebhook(
  tx: Queries,
  webhook: WebhookSettings & { readonly id: string; readonly account: string; readonly position: bigint },
  now: Date,
): Promise<void> {
  await tx.rows(INSERT, [
    webhook.id,
    webhook.account,
    ...settingsOf(webhook),
    webhook.position.toString(),
    now.toISOString(),
  ]);
}

/** Changes what the owner chose. A delivery in progress is not recorded, and is repeated under the new settings. */
export async function updateSettings(
  tx: Queries,
  id: string,
  settings: WebhookSettings,
  now: Date,
): Promise<void> {
  await tx.rows(UPDATE, [id, ...settingsOf(settings), now.toISOString()]);
}

/**
 * Stops deliveries. False for a worker with a `fence` if it is disabled already, or claimed by another. The owner's reason
 * replaces that of a fault: others must not enable it again.
 */
export async function disableWebhook(
  queries: Queries,
  { id, fence }: { readonly id: string; readonly fence?: number },
  reason: DisabledReason,
  now: Date,
): Promise<boolean> {
  const rows = await queries.rows(DISABLE, [id, reason, now.toISOString(), fence ?? null]);
  return rows.length > 0;
}

/** Where deliveries resume, and the number of the last one. */
export type ResumePoint = { readonly position: bigint; readonly sequence: number };

/** Delivers the events after a position, at once; `newest` is a position up to which events may be waiting. */
export async function resumeAt(
  tx: Queries,
  id: string,
  { position, sequence }: ResumePoint,
  newest: bigint,
  now: Date,
): Promise<void> {
  await tx.rows(RESUME, [id, position.toString(), sequence, newest.toString(), now.toISOString()]);
}

/**
 * Replaces the secret; the previous one is also used until `previousUntil`. A delivery in progress, which is signed with
 * the previous one alone, is not recorded, and is repeated with both. Returns the new version.
 */
export async function advanceSecret(
  queries: Queries,
  account: string,
  id: string,
  previousUntil: Date,
): Promise<number | undefined> {
  const parameters = [account, id, previousUntil.toISOString()];
  const [row] = await queries.rows<{ secret_version: number }>(ROTATE, parameters);
  return row?.secret_version;
}

/** Deletes a webhook and its attempts. False if the account has none with this id. */
export async function deleteWebhook(queries: Queries, account: string, id: string): Promise<boolean> {
  return (await queries.rows(DELETE, [account, id])).length > 0;
}

/** The kept attempts of webhooks, newest first. */
export async function listAttempts(
  queries: Queries,
  webhookIds: readonly string[],
): Promise<readonly WebhookAttempt[]> {
  const rows = await queries.rows<AttemptRow>(ATTEMPTS, [JSON.stringify(webhookIds)]);
  return rows.map((row) => ({
    webhookId: row.webhook_id,
    number: Number(row.number),
    eventId: row.event_id,
    event: row.event,
    sequence: Number(row.sequence),
    at: new Date(Number(row.at_ms)),
    durationMs: row.duration_ms,
    status: row.status,
    failure: row.failure,
  }));
}

/** A row of the table, as `WEBHOOK_COLUMNS` reads it. */
export type WebhookRow = {
  readonly id: string;
  readonly account: string;
  readonly name: string;
  readonly url: string;
  readonly events: string;
  readonly topics: string;
  readonly balance_threshold: string | null;
  readonly secret_version: number;
  readonly previous_ms: string | null;
  readonly created_ms: string;
  readonly disabled_ms: string | null;
  readonly disabled_reason: DisabledReason | null;
  readonly position: string;
  readonly sequence: string;
  readonly failures: number;
  readonly first_failed_ms: string | null;
  readonly next_ms: string;
};

type AttemptRow = {
  readonly webhook_id: string;
  readonly number: string;
  readonly event_id: string;
  readonly event: WebhookEvent;
  readonly sequence: string;
  readonly at_ms: string;
  readonly duration_ms: number;
  readonly status: number | null;
  readonly failure: DeliveryFailure | null;
};

const msOf = (column: string, name: string) =>
  `floor(extract(epoch from ${column}) * 1000)::bigint::text as ${name}`;

export const WEBHOOK_COLUMNS = `w.id::text as id, w.account, w.name, w.url, w.events::text as events,
  w.topics::text as topics, w.balance_threshold::text as balance_threshold, w.secret_version,
  ${msOf("w.previous_secret_until", "previous_ms")}, ${msOf("w.created_at", "created_ms")},
  ${msOf("w.disabled_at", "disabled_ms")}, w.disabled_reason, w.position::text as position,
  w.sequence::text as sequence, w.failures, ${msOf("w.first_failed_at", "first_failed_ms")},
  ${msOf("w.next_attempt_at", "next_ms")}`;

const LIST = `
  select ${WEBHOOK_COLUMNS} from webhook w where w.account = $1::text order by w.created_at, w.id`;
const FIND = `select ${WEBHOOK_COLUMNS} from webhook w where w.account = $1::text and w.id = $2::uuid`;
const CATCH_UP = `
  update webhook set position = $3::bigint
  where account = $1::text and id = $2::uuid and disabled_at is null and pending_position <= position
    and position < $3::bigint`;
const INSERT = `
  insert into webhook (id, account, name, url, events, topics, balance_threshold, position, created_at, next_attempt_at)
  values ($1::uuid, $2::text, $3::text, $4::text, $5::text::jsonb, $6::text::jsonb, $7::numeric, $8::bigint,
    $9::timestamptz, $9::timestamptz)`;
const RELEASED = "fence = fence + 1, leased_until = null";
const UPDATE = `
  update webhook set name = $2::text, url = $3::text, events = $4::text::jsonb, topics = $5::text::jsonb,
    is_below = is_below and events ? 'balance.low' and balance_threshold is not distinct from $6::numeric,
    balance_threshold = $6::numeric,
    next_attempt_at = $7::timestamptz, waiting_position = null, ${RELEASED}
  where id = $1::uuid`;
const DISABLE = `
  update webhook set disabled_at = coalesce(disabled_at, $3::timestamptz), disabled_reason = $2::text, ${RELEASED}
  where id = $1::uuid and (disabled_at is null or $2::text = 'owner') and fence = coalesce($4::integer, fence)
  returning 1`;
// Where events are skipped, it is not known whether the balance was above the threshold meanwhile.
const RESUME = `
  update webhook set disabled_at = null, disabled_reason = null, position = $2::bigint, sequence = $3::bigint,
    pending_position = greatest(pending_position, $4::bigint), waiting_position = null,
    waiting_since = $5::timestamptz, is_below = is_below and position = $2::bigint, failures = 0,
    first_failed_at = null, next_attempt_at = $5::timestamptz, is_slow = false, ${RELEASED}
  where id = $1::uuid`;
const ROTATE = `
  update webhook set secret_version = secret_version + 1, previous_secret_until = $3::timestamptz, ${RELEASED}
  where account = $1::text and id = $2::uuid returning secret_version`;
const DELETE = "delete from webhook where account = $1::text and id = $2::uuid returning 1";
const ATTEMPTS = `
  select webhook_id::text as webhook_id, number::text as number, event_id, event, sequence::text as sequence, ${msOf("at", "at_ms")}, duration_ms,
    status, failure
  from webhook_attempt a where webhook_id in (select jsonb_array_elements_text($1::text::jsonb)::uuid)
  order by a.number desc`;

function settingsOf({ name, url, events, topics, balanceThreshold }: WebhookSettings): readonly unknown[] {
  return [name, url, JSON.stringify(events), JSON.stringify(topics), balanceThreshold?.toString() ?? null];
}

/** The webhook in a row. */
export function toWebhook(row: WebhookRow): StoredWebhook {
  const isDisabled = row.disabled_ms !== null;
  return {
    id: row.id,
    account: row.account,
    name: row.name,
    url: row.url,
    events: JSON.parse(row.events) as WebhookEvent[],
    topics: JSON.parse(row.topics) as Topic[],
    balanceThreshold: row.balance_threshold === null ? null : BigInt(row.balance_threshold),
    status: isDisabled ? "disabled" : row.failures > 0 ? "failing" : "active",
    disabledAt: timeOf(row.disabled_ms),
    disabledReason: row.disabled_reason,
    createdAt: new Date(Number(row.created_ms)),
    sequence: Number(row.sequence),
    position: BigInt(row.position),
    failures: row.failures,
    firstFailedAt: timeOf(row.first_failed_ms),
    nextAttemptAt: isDisabled || row.failures === 0 ? null : timeOf(row.next_ms),
    secretVersion: row.secret_version,
    previousSecretUntil: timeOf(row.previous_ms),
  };
}

function timeOf(ms: string | null): Date | null {
  return ms === null ? null : new Date(Number(ms));
}
