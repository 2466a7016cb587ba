import type { Queries } from "../db/database.ts";

/** What a key is unique in, and what it stands for. `bodyHash` tells whether two requests ask for the same. */
export type IdempotentRequest = {
  readonly account: string;
  readonly method: string;
  readonly route: string;
  readonly key: string;
  readonly bodyHash: string;
  readonly requestId: string;
};

/** An answer as it is kept. */
export type KeptAnswer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
};

/** What is known of a key that was used before. `secret` and `lost` are answers that are not kept. */
export type KnownRequest = { readonly bodyHash: string; readonly requestId: string } & (
  | { readonly state: "running" | "secret" | "lost" }
  | { readonly state: "kept"; readonly answer: KeptAnswer }
);

/** How long a key is remembered. */
const KEPT_HOURS = 24;

/**
 * Takes a key for this request, or says what is known of it; undefined when another process took it this moment, and
 * one has to ask again. One that still runs past its deadline was lost with its process.
 */
export async function claimKey(
  queries: Queries,
  request: IdempotentRequest,
  deadlineSeconds: number,
): Promise<"claimed" | KnownRequest | undefined> {
  const { account, method, route, key, bodyHash, requestId } = request;
  const parameters = [account, method, route, key, bodyHash, requestId, deadlineSeconds];
  const [row] = await queries.rows<ClaimRow>(CLAIM, parameters);
  if (!row) return undefined;
  if (row.claimed) return "claimed";
  const known = { bodyHash: row.body_hash, requestId: row.request_id };
  if (row.state !== "kept") return { ...known, state: row.state };
  const answer = {
    status: row.status,
    headers: JSON.parse(row.headers) as Record<string, string>,
    body: Buffer.from(row.body, "base64"),
  };
  return { ...known, state: "kept", answer };
}

/** Notes how a request ended that was answered: with an answer to keep, or in a state that keeps none. */
export async function finishKey(
  queries: Queries,
  { account, method, route, key, requestId }: IdempotentRequest,
  end: KeptAnswer | "secret" | "lost",
): Promise<void> {
  const scope = [account, method, route, key, requestId];
  if (typeof end === "string") await queries.rows(FINISH, [...scope, end, null, null, null]);
  else {
    const { status, headers, body } = end;
    await queries.rows(FINISH, [...scope, "kept", status, JSON.stringify(headers), body.toString("base64")]);
  }
}

/**
 * Frees the key of a request that failed, so that it may be tried again; unless the books say that it was charged or
 * is running still. For a request that is not in the books, `isUndone` tells whether it is known to be undone.
 */
export async function freeKey(
  queries: Queries,
  { account, method, route, key, requestId }: IdempotentRequest,
  isUndone: boolean,
): Promise<void> {
  await queries.rows(FREE, [account, method, route, key, requestId, isUndone]);
}

/** Deletes at most `limit` keys older than 24 h and returns how many. */
export async function forgetKeys(queries: Queries, limit: number): Promise<number> {
  return (await queries.rows(FORGET, [limit])).length;
}

type ClaimRow =
  | { readonly claimed: true }
  | ({ readonly claimed: false; readonly body_hash: string; readonly request_id: string } & (
      | { readonly state: "running" | "secret" | "lost" }
      | { readonly state: "kept"; readonly status: number; readonly headers: string; readonly body: string }
    ));

const SCOPE = "account = $1::text and method = $2::text and route = $3::text and key = $4::text";

const CLAIM = `
  with claimed as (
    insert into idempotency_key as k (account, method, route, key, body_hash, request_id, state, deadline)
    values ($1::text, $2::text, $3::text, $4::text, $5::text, $6::text, 'running',
      now() + make_interval(secs => $7::integer))
    on conflict (account, method, route, key) do update
      set body_hash = excluded.body_hash, request_id = excluded.request_id, state = 'running', status = null,
        headers = null, body = null, created_at = now(), deadline = excluded.deadline
      where k.created_at < now() - interval '${KEPT_HOURS} hours'
    returning 1
  )
  select true as claimed, null as body_hash, null as request_id, null as state, null::integer as status,
    null as headers, null as body
  from claimed
  union all
  select false, body_hash, request_id, case when state = 'running' and deadline < now() then 'lost' else state end,
    status, headers::text, encode(body, 'base64')
  from idempotency_key where ${SCOPE} and not exists (select 1 from claimed)`;

const FINISH = `
  update idempotency_key set state = $6::text, status = $7::integer, headers = $8::text::jsonb,
    body = decode($9::text, 'base64')
  where ${SCOPE} and request_id = $5::text and state = 'running' returning 1`;

const FREE = `
  with verdict as (
    select coalesce((select status <> 'running' and total_cost = 0 from inference_request where id = $5::text),
      $6::boolean) as undone
  ), kept as (
    update idempotency_key set state = 'lost'
    where ${SCOPE} and request_id = $5::text and state = 'running' and not (select undone from verdict)
  )
  delete from idempotency_key
  where ${SCOPE} and request_id = $5::text and state = 'running' and (select undone from verdict)
  returning 1`;

const FORGET = `
  delete from idempotency_key where (account, method, route, key) in (
    select account, method, route, key from idempotency_key
    where created_at < now() - interval '${KEPT_HOURS} hours' order by created_at limit $1::integer
    for update skip locked
  ) returning 1`;
