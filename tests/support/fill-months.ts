import type { Queries } from "../../src/db/database.ts";
import type { Seeded } from "./seed.ts";

/** The UTC month `months` before the current one, as `YYYY-MM`. */
export function monthsAgo(months: number): string {
  const now = new Date();
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - months)).toISOString().slice(0, 7);
}

/**
 * Writes requests, a third of them with tags, that ended in a month and were paid from the deposits of these accounts, with their evidence, as that
 * month would have left them. The first one ends a microsecond after the turn of the month, the last one a millisecond before the next.
 */
export async function fillMonth(
  queries: Queries,
  month: string,
  { seeded, requests }: { readonly seeded: readonly Seeded[]; readonly requests: number },
): Promise<void> {
  const keys = JSON.stringify(seeded.map(({ account, keyId }, n) => ({ n, account, key: keyId })));
  await queries.rows(FILL, [keys, month, requests]);
}

const FILL = `
  with given as (
    select * from jsonb_to_recordset($1::jsonb) as g(n int, account text, key uuid)
  ), bounds as (
    select ($2::text || '-01')::timestamp at time zone 'UTC' as start,
      (($2::text || '-01')::date + interval '1 month') at time zone 'UTC' as finish
  ), ended as materialized (
    select r.n, g.account, g.key, 'req-' || md5($2::text || r.n || g.account) as id, 1 + r.n % 7 as cost,
      least(start + interval '1 microsecond' + (finish - start) * ((r.n - 1)::float8 / greatest($3::int - 1, 1)),
        finish - interval '1 millisecond') as at
    from bounds, generate_series(1, $3::int) r(n)
    join given g on g.n = r.n % (select count(*) from given)
  ), counted as (
    update account a set usage_count = a.usage_count + e.count, deposit = a.deposit - e.cost
    from (select account, count(*) as count, sum(cost) as cost from ended group by account) e
    where a.address = e.account
    returning a.address, a.usage_count - e.count as before
  ), charged as (
    update api_key k set used = k.used + e.cost, spent_at = now()
    from (select key, sum(cost) as cost from ended group by key) e where k.id = e.key
  ), transfers as (
    insert into ledger_transfer (transfer_id, from_book, to_book, account, amount, cause, created_at)
    select 'settle:' || id, 'deposit', 'revenue', account, cost, 'settled', at from ended order by at
  ), evidence as (
    insert into request_evidence (request_id, provider, verdict, checked_at)
    select id, '0xaa', 'verified', at from ended where n % 10 = 0 order by at
  )
  insert into inference_request (id, account, api_key_id, model, provider, service_type, status, input_price,
    output_price, input_tokens, output_tokens, input_cost, output_cost, total_cost, deposit_used, credit_used,
    duration_ms, routing, tags, created_at, finished_at, usage_id, usage_number)
  select id, account, key, 'model-' || n % 3, '0x' || repeat('ab', 20), 'chatbot', 'completed', 1, 1, n % 50, n % 9,
    cost, 0, cost, cost, 0, 2000,
    jsonb_build_object('attempts', jsonb_build_array(jsonb_build_object('note', 'a "quoted", text', 'provider', id))),
    case when n % 3 = 0 then jsonb_build_object('team', 'a "quoted", text', 'n', (n % 5)::text) end,
    at - interval '2 seconds', at, nextval('usage_id'), before + row_number() over (partition by account order by at)
  from ended join counted on address = account
  order by at`;
