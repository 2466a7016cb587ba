import type { Queries } from "../../src/db/database.ts";

/**
 * How much history to write, over how many accounts; a tenth of it belongs to the first account. Without
 * `statistics` the planner has none, as on the embedded database.
 */
export type UsageVolume = {
  readonly accounts: number;
  readonly requests: number;
  readonly statistics?: boolean;
};

/** The first account, with its own key and model, for filters that match something. */
export type SeededUsage = { readonly account: string; readonly keyId: string; readonly model: string };

const BATCH = 100_000;
const DAYS = 90;

/**
 * Writes settled requests directly, as 90 days of traffic would have left them: 20 models, three keys per
 * account, a tenth of all requests on one account. It writes no ledger entries: only for databases whose
 * ledger is not audited. All of it must run on one connection, whose user is a superuser.
 */
export async function seedUsage(
  queries: Queries,
  { accounts, requests, statistics = true }: UsageVolume,
): Promise<SeededUsage> {
  await queries.rows(ACCOUNTS, [accounts]);
  await queries.rows(KEYS, [accounts]);
  const indexes = await queries.rows<{ name: string; definition: string }>(INDEXES);
  for (const { name } of indexes) await queries.rows(`drop index ${name}`);
  // Foreign keys and the commits of each batch do not matter here.
  await queries.rows("set session_replication_role = replica");
  await queries.rows("set synchronous_commit = off");
  for (let from = 0; from < requests; from += BATCH)
    await queries.rows(REQUESTS, [from + 1, Math.min(from + BATCH, requests), accounts, requests]);
  await queries.rows("set session_replication_role = origin");
  await queries.rows("set synchronous_commit = on");
  for (const { definition } of indexes) await queries.rows(definition);
  if (statistics) await queries.rows("vacuum analyze inference_request");
  if (statistics) await queries.rows("vacuum analyze account");
  const [row] = await queries.rows<{ account: string; key: string }>(
    `select ${ADDRESS("1")} as account, ${KEY("1", "0")}::text as key`,
  );
  if (!row) throw new Error("a select without a table has one row");
  return { account: row.account, keyId: row.key, model: "model-3" };
}

const ADDRESS = (n: string) => `'0x5eed' || lpad(to_hex(${n}), 36, '0')`;
const KEY = (account: string, n: string) => `md5('key ' || ${account} || ' ' || ${n})::uuid`;

const ACCOUNTS = `
  insert into account (address) select ${ADDRESS("n")} from generate_series(1, $1::int) n`;

const KEYS = `
  insert into api_key (id, account, name, secret_hash, preview)
  select ${KEY("n", "k")}, ${ADDRESS("n")}, 'seeded ' || k, md5(n || ' ' || k), 'sk-...'
  from generate_series(1, $1::int) n, generate_series(0, 2) k`;

const INDEXES = `
  select indexname as name, indexdef as definition from pg_indexes
  where tablename = 'inference_request' and indexname <> 'inference_request_pkey'`;

// Multiplied by a prime, numbers are spread as if at random, and the same in each run.
const REQUESTS = `
  with spread as materialized (
    select n, h, case when h % 10 = 0 then 1 else 2 + h / 10 % ($3::bigint - 1) end as a,
      now() - (($4::bigint - n)::float8 / $4::bigint) * interval '${DAYS} days' as at
    from (select n, n * 2654435761 % 1000000007 as h from generate_series($1::bigint, $2::bigint) n) numbers
  ), counted as (
    update account w set usage_count = w.usage_count + used.count
    from (select ${ADDRESS("a")} as address, count(*) as count from spread group by a) as used
    where w.address = used.address
  )
  insert into inference_request (id, account, api_key_id, model, provider, service_type, status, input_price,
    output_price, input_tokens, output_tokens, cached_tokens, input_cost, output_cost, total_cost, deposit_used,
    credit_used, trust_mode, first_byte_ms, duration_ms, routing, created_at, finished_at, usage_id, usage_number)
  select 'req-' || md5(n::text), w.address, case when h % 50 > 0 then ${KEY("a", "h % 3")} end,
    'model-' || least(h % 20, h % 7), '0x' || repeat(to_hex(h % 16), 40), 'chatbot', 'completed', 100, 300,
    h % 4000, h % 900, h % 100, (h % 4000) * 100, (h % 900) * 300, (h % 4000) * 100 + (h % 900) * 300,
    (h % 4000) * 100, (h % 900) * 300, (array['standard', 'verified', 'private'])[1 + h % 3], h % 900, h % 9000,
    jsonb_build_object('attempts', jsonb_build_array(jsonb_build_object('provider', repeat(to_hex(h % 16), 40)))),
    at, at + interval '2 seconds', n, w.usage_count + row_number() over (partition by a order by n)
  from spread join account w on w.address = ${ADDRESS("a")}
  order by n`;
