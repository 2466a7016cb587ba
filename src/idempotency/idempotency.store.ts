import { startLease } from "../accounts/allotments/leases.store.ts";
import type { Queries } from "../db/database.ts";

/**
 * A request under names that only its credential can derive (see `ReplayKey.name`): `scopeName` from the account,
 * method, route and key, `bodyName` from its parameters and body.
 */
export type NamedRequest = {
  readonly account: string;
  readonly method: string;
  readonly route: string;
  readonly scopeName: string;
  readonly bodyName: string;
  readonly requestId: string;
  /** Whether the request has no effect but its charge, so that it may be run again if it was not charged. */
  readonly isBilled: boolean;
};

/** The earlier request with a key. In the states `secret` and `lost` its answer is not stored. */
export type KnownRequest = { readonly bodyName: string; readonly requestId: string } & (
  | { readonly state: "running" | "secret" | "lost" }
  | { readonly state: "kept"; readonly sealed: Buffer }
);

/** How long a key is stored. */
const KEPT_HOURS = 24;

/**
 * Claims a key for this request, or returns the earlier request with it; undefined when another process claimed the key
 * at this moment: call again. The claim lasts as long as the lease of its process (see `releaseLostClaims`), which is
 * started if it has none; one of an earlier version, which names no process, until the deadline. `plainKey` is the key
 * as the client sent it: versions before sealed answers stored it so, and their requests are not executed again.
 */
export async function claimKey(
  queries: Queries,
  { account, method, route, scopeName, bodyName, requestId, isBilled }: NamedRequest,
  { plainKey, deadlineSeconds, processId }: { plainKey: string; deadlineSeconds: number; processId: string },
): Promise<"claimed" | KnownRequest | undefined> {
  const [row] = await queries.rows<ClaimRow>(CLAIM, [
    ...[
      account,
      method,
      route,
      scopeName,
      bodyName,
      requestId,
      deadlineSeconds,
      plainKey,
      processId,
      isBilled,
    ],
  ]);
  if (!row) return undefined;
  if (row.claimed) return "claimed";
  const known = { bodyName: row.body_hash, requestId: row.request_id };
  if (row.state !== "kept") return { ...known, state: row.state };
  return { ...known, state: "kept", sealed: Buffer.from(row.body, "base64") };
}

/** Records how an answered request ended: with a sealed answer, or in a state without one. */
export async function finishKey(
  queries: Queries,
  { account, method, route, scopeName, requestId }: NamedRequest,
  end: Buffer | "secret" | "lost",
): Promise<void> {
  const [state, sealed] = typeof end === "string" ? [end, null] : ["kept", end.toString("base64")];
  await queries.rows(FINISH, [account, method, route, scopeName, requestId, state, sealed]);
}

/**
 * Frees the key of a failed request, so that the client may retry it, unless the ledger shows that it was charged or
 * still holds money. For a request that never did, `isUndone` says whether it is known to be undone. One that
 * `isBilled` is undone unless it is charged: without its key, it cannot be charged later. Returns false if the key is
 * kept.
 */
export async function freeKey(
  queries: Queries,
  { account, method, route, scopeName, requestId }: NamedRequest,
  isUndone: boolean,
): Promise<boolean> {
  const parameters = [account, method, route, scopeName, requestId, isUndone];
  const [row] = await queries.rows<{ is_kept: boolean }>(FREE, parameters);
  return row?.is_kept !== true;
}

/** Deletes at most `limit` keys older than 24 h and returns the count. */
export async function forgetKeys(queries: Queries, limit: number): Promise<number> {
  return (await queries.rows(FORGET, [limit])).length;
}

type ClaimRow =
  | { readonly claimed: true }
  | ({ readonly claimed: false; readonly body_hash: string; readonly request_id: string } & (
      | { readonly state: "running" | "secret" | "lost" }
      | { readonly state: "kept"; readonly body: string }
    ));

const SCOPE = "account = $1::text and method = $2::text and route = $3::text and key = $4::text";

/** If another request claims an old key at the same moment, the last part sees the old row, which is not an answer. */
const CLAIM = `
  with unsealed as (
    select request_id, case when state = 'running' and deadline >= now() then 'running' else 'lost' end as state
    from idempotency_key
    where account = $1::text and method = $2::text and route = $3::text and key = $8::text and not sealed
      and created_at >= now() - interval '${KEPT_HOURS} hours'
  ), claimed as (
    insert into idempotency_key as k (account, method, route, key, body_hash, request_id, state, deadline, sealed,
      process_id, is_billed)
    select $1::text, $2::text, $3::text, $4::text, $5::text, $6::text, 'running',
      now() + make_interval(secs => $7::integer), true, $9::uuid, $10::boolean
    where not exists (select 1 from unsealed)
    on conflict (account, method, route, key) do update
      set body_hash = excluded.body_hash, request_id = excluded.request_id, state = 'running', body = null,
        created_at = now(), deadline = excluded.deadline, process_id = excluded.process_id,
        is_billed = excluded.is_billed, is_charged = false
      where k.created_at < now() - interval '${KEPT_HOURS} hours'
    returning 1
  ), leased as (${startLease("$9", "exists (select 1 from claimed)")}
  )
  select true as claimed, null as body_hash, null as request_id, null as state, null as body
  from claimed
  union all
  select false, $5::text, request_id, state, null from unsealed
  union all
  select false, body_hash, request_id, case when state = 'running' and deadline < now() then 'lost' else state end,
    encode(body, 'base64')
  from idempotency_key where ${SCOPE} and not exists (select 1 from claimed)
    and created_at >= now() - interval '${KEPT_HOURS} hours'`;

const FINISH = `
  update idempotency_key set state = $6::text, body = decode($7::text, 'base64')
  where ${SCOPE} and request_id = $5::text and state = 'running' returning 1`;

/** `is_charged` is examined again under the lock of the row: a settlement may be repeated at the same moment. */
const FREE = `
  with verdict as (
    select case when is_billed and $6::boolean then not is_charged
      else coalesce((select status <> 'running' and total_cost = 0 from inference_request where id = $5::text),
        (select state <> 'open' from hold where id = $5::text), $6::boolean) end as undone
    from idempotency_key where ${SCOPE} and request_id = $5::text
  ), kept as (
    update idempotency_key set state = 'lost'
    where ${SCOPE} and request_id = $5::text and state = 'running' and not (select undone from verdict)
    returning 1
  ), freed as (
    delete from idempotency_key
    where ${SCOPE} and request_id = $5::text and state = 'running' and (select undone from verdict)
      and not is_charged
  )
  select exists (select 1 from kept) as is_kept`;

const FORGET = `
  delete from idempotency_key where (account, method, route, key) in (
    select account, method, route, key from idempotency_key
    where created_at < now() - interval '${KEPT_HOURS} hours' order by created_at limit $1::integer
    for update skip locked
  ) returning 1`;
