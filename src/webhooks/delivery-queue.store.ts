import type { Queries } from "../db/database.ts";
import type { SubjectsWithEvents } from "../events/subject-events.ts";
import type { Topic } from "../events/topics.ts";
import { type StoredWebhook, toWebhook, WEBHOOK_COLUMNS, type WebhookRow } from "./webhook.store.ts";
import type { DeliveryResult } from "./webhook.ts";
import { KEPT_ATTEMPTS } from "./webhook.ts";

/** A webhook that a worker claimed. `fence` grows with each claim: only the holder of the greatest may write. */
export type ClaimedWebhook = StoredWebhook & {
  readonly fence: number;
  readonly isBelow: boolean;
  /** The newest position at which an event for it was found. */
  readonly pendingPosition: bigint;
  /** The position of the oldest event that waits; null if it is not known, or if events are before it. */
  readonly waitingPosition: bigint | null;
};

/** The position up to which the outbox was matched. */
export async function scannedPosition(queries: Queries): Promise<bigint> {
  const [row] = await queries.rows<{ position: string }>(
    "select position::text as position from webhook_scan",
  );
  return BigInt(row?.position ?? 0);
}

/** The position up to which the outbox was matched, locked for this transaction; undefined while another scans. */
export async function takeScan(
  tx: Queries,
): Promise<{ readonly position: bigint; readonly isNeeded: boolean } | undefined> {
  const [row] = await tx.rows<{ position: string; is_needed: boolean }>(
    `select position::text as position, exists (select 1 from webhook where disabled_at is null) as is_needed
     from webhook_scan for update skip locked`,
  );
  return row && { position: BigInt(row.position), isNeeded: row.is_needed };
}

/** Records that the outbox was matched up to a position. */
export async function advanceScan(tx: Queries, position: bigint): Promise<void> {
  await tx.rows("update webhook_scan set position = $1::bigint", [position.toString()]);
}

/** Gives work to the webhooks that these events concern. */
export async function markPending(
  tx: Queries,
  found: SubjectsWithEvents["subjects"],
  now: Date,
): Promise<void> {
  if (found.length > 0) await tx.rows(MARK, [JSON.stringify(found), now.toISOString()]);
}

/** Those of these accounts that have an enabled webhook for a topic. */
export async function accountsFollowing(
  queries: Queries,
  topic: Topic,
  accounts: readonly string[],
): Promise<readonly string[]> {
  if (accounts.length === 0) return [];
  const rows = await queries.rows<{ account: string }>(
    `select distinct account from webhook
     where account in (select jsonb_array_elements_text($1::text::jsonb)) and disabled_at is null and topics ? $2::text`,
    [JSON.stringify(accounts), topic],
  );
  return rows.map(({ account }) => account);
}

/** What to claim: webhooks that are slow, or those that are not, except those of busy accounts. */
type ClaimQuery = {
  readonly isSlow: boolean;
  readonly busyAccounts: readonly string[];
  readonly limit: number;
  readonly leaseSeconds: number;
  readonly now: Date;
};

/** Claims webhooks that have work, at most one of each account, longest due first. */
export async function claimWebhooks(
  queries: Queries,
  { isSlow, busyAccounts, limit, leaseSeconds, now }: ClaimQuery,
): Promise<readonly ClaimedWebhook[]> {
  const parameters = [now.toISOString(), isSlow, JSON.stringify(busyAccounts), limit, leaseSeconds];
  const rows = await queries.rows<ClaimedRow>(CLAIM, parameters);
  return rows.map((row) => ({
    ...toWebhook(row),
    fence: row.fence,
    isBelow: row.is_below,
    pendingPosition: BigInt(row.pending_position),
    waitingPosition: row.waiting_position === null ? null : BigInt(row.waiting_position),
  }));
}

/** The claim under which a worker writes. */
type Fenced = { readonly id: string; readonly fence: number };

/** Where a webhook is after a step: `waiting` is the next event, if it is known. */
export type Progress = {
  readonly position: bigint;
  readonly isBelow: boolean;
  readonly waiting: { readonly position: bigint; readonly at: Date } | null;
};

/** An attempt to be recorded. */
export type NewAttempt = DeliveryResult & {
  readonly eventId: string;
  readonly event: string;
  readonly sequence: number;
  readonly at: Date;
};

/** Records a delivery and renews the lease. False when the lease was lost: the delivery will be repeated. */
export async function recordDelivered(
  queries: Queries,
  fenced: Fenced,
  { position, isBelow, waiting }: Progress,
  attempt: NewAttempt,
  { isSlow, leaseSeconds }: { readonly isSlow: boolean; readonly leaseSeconds: number },
): Promise<boolean> {
  const rows = await queries.rows(DELIVERED, [
    ...attemptParameters(fenced, attempt),
    position.toString(),
    isBelow,
    waiting?.position.toString() ?? null,
    waiting?.at.toISOString() ?? null,
    isSlow,
    leaseSeconds,
  ]);
  return rows.length > 0;
}

/** Records a failed attempt and ends the lease until `nextAttemptAt`. False when the lease was lost. */
export async function recordFailed(
  queries: Queries,
  fenced: Fenced,
  { position, isBelow, waiting }: Progress,
  attempt: NewAttempt,
  nextAttemptAt: Date,
): Promise<boolean> {
  const rows = await queries.rows(FAILED, [
    ...attemptParameters(fenced, attempt),
    position.toString(),
    isBelow,
    waiting?.position.toString() ?? null,
    nextAttemptAt.toISOString(),
  ]);
  return rows.length > 0;
}

/** Ends the lease at a position that was reached without a delivery since the last record. */
export async function releaseWebhook(
  queries: Queries,
  { id, fence }: Fenced,
  { position, isBelow }: Pick<Progress, "position" | "isBelow">,
  now: Date,
): Promise<void> {
  await queries.rows(RELEASE, [id, fence, position.toString(), isBelow, now.toISOString()]);
}

/** Age of the oldest event that waits for its delivery, seconds; 0 when none waits. */
export async function oldestWaitingSeconds(queries: Queries): Promise<number> {
  const [row] = await queries.rows<{ age: number | null }>(
    `select extract(epoch from now() - min(waiting_since))::float8 as age from webhook
     where disabled_at is null and pending_position > position`,
  );
  return Math.max(0, row?.age ?? 0);
}

type ClaimedRow = WebhookRow & {
  readonly fence: number;
  readonly is_below: boolean;
  readonly pending_position: string;
  readonly waiting_position: string | null;
};

const MARK = `
  with found as (
    select w.id, min(f.first) as first, max(f.last) as last
    from jsonb_to_recordset($1::text::jsonb) as f(topic text, subject text, first bigint, last bigint)
    join webhook w on w.account = f.subject and w.disabled_at is null and w.topics ? f.topic
    group by w.id
  ), locked as (
    select w.id from webhook w where w.id in (select id from found) order by w.id for update
  )
  update webhook w set pending_position = greatest(w.pending_position, f.last),
    waiting_position = case when w.pending_position > w.position then w.waiting_position else f.first end,
    waiting_since = case when w.pending_position > w.position then w.waiting_since else $2::timestamptz end
  from found f join locked using (id) where w.id = f.id`;

const IS_DUE = `w.disabled_at is null and w.pending_position > w.position and w.next_attempt_at <= $1::timestamptz
  and w.is_slow = $2::boolean and (w.leased_until is null or w.leased_until < now())
  and not $3::text::jsonb ? w.account`;

const CLAIM = `
  with ranked as (
    select w.id, w.next_attempt_at,
      row_number() over (partition by w.account order by w.next_attempt_at, w.id) as place
    from webhook w where ${IS_DUE}
  ), due as (
    select w.id from webhook w join ranked r on r.id = w.id
    where r.place = 1 and ${IS_DUE}
    order by r.next_attempt_at, r.id limit $4::integer for update of w skip locked
  )
  update webhook w set leased_until = now() + make_interval(secs => $5::integer), fence = w.fence + 1
  from due where w.id = due.id
  returning ${WEBHOOK_COLUMNS}, w.fence, w.is_below, w.pending_position::text as pending_position,
    case when w.waiting_position > w.position then w.waiting_position end::text as waiting_position`;

/** Each attempt replaces the one that is `KEPT_ATTEMPTS` older. */
const recorded = (changes: string) => `
  with changed as (
    update webhook w set attempts = w.attempts + 1, ${changes}
    where w.id = $1::uuid and w.fence = $2::integer
    returning w.id, w.attempts
  ), added as (
    insert into webhook_attempt (webhook_id, number, event_id, event, sequence, at, duration_ms, status, failure)
    select id, attempts, $3::text, $4::text, $5::bigint, $6::timestamptz, $7::integer, $8::integer, $9::text
    from changed
  ), dropped as (
    delete from webhook_attempt a using changed c
    where a.webhook_id = c.id and a.number = c.attempts - ${KEPT_ATTEMPTS}
  )
  select 1 from changed`;

const DELIVERED = recorded(`position = $10::bigint, is_below = $11::boolean, waiting_position = $12::bigint,
  waiting_since = coalesce($13::timestamptz, w.waiting_since), sequence = $5::bigint, failures = 0,
  first_failed_at = null, is_slow = $14::boolean,
  leased_until = now() + make_interval(secs => $15::integer)`);

const FAILED = recorded(`position = $10::bigint, is_below = $11::boolean, waiting_position = $12::bigint,
  failures = w.failures + 1, first_failed_at = coalesce(w.first_failed_at, $6::timestamptz),
  next_attempt_at = $13::timestamptz, is_slow = true, leased_until = null`);

const RELEASE = `
  update webhook set position = $3::bigint, is_below = $4::boolean, next_attempt_at = $5::timestamptz,
    waiting_position = case when waiting_position > $3::bigint then waiting_position end, leased_until = null
  where id = $1::uuid and fence = $2::integer`;

function attemptParameters({ id, fence }: Fenced, attempt: NewAttempt): readonly unknown[] {
  const { eventId, event, sequence, at, durationMs, status, failure } = attempt;
  return [id, fence, eventId, event, sequence, at.toISOString(), Math.round(durationMs), status, failure];
}
