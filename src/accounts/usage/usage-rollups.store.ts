import type { Queries } from "../../db/database.ts";
import { USAGE_SUMS } from "./usage.store.ts";

/** Accounts with at least `pending` requests that are not in the stored sums yet, or not in those by provider. */
export async function findPending(
  queries: Queries,
  pending: number,
  limit: number,
): Promise<readonly string[]> {
  const rows = await queries.rows<{ address: string }>(PENDING, [pending, limit]);
  return rows.map(({ address }) => address);
}

/**
 * Adds the next requests of an account, at most `limit`, to the stored sums. Returns how many; 0 if none is left, or
 * another process is adding. Throws, and changes nothing, if a request is missing.
 */
export async function rollUp(queries: Queries, account: string, limit: number): Promise<number> {
  await queries.rows(BEGIN, [account]);
  const [row] = await queries.rows<{ added: string; expected: string }>(ROLL_UP, [account, limit]);
  const { added = "0", expected = "0" } = row ?? {};
  if (added !== expected) throw new Error(`usage of ${account} is not numbered without gaps`);
  return Number(added);
}

const SUMS = [
  ...["usage_rollup", "usage_tag_rollup", "usage_rolled"],
  ...["usage_provider_rollup", "usage_provider_rolled"],
];

/**
 * Deletes the stored sums of accounts that have all their requests: those of removed requests cannot be made anew.
 */
export async function clearRollups(tx: Queries): Promise<void> {
  // Also stops a process that is adding, which waits for the account's row.
  await tx.rows("select account from usage_rolled order by account for update");
  await tx.rows("select account from usage_provider_rolled order by account for update");
  for (const table of SUMS)
    await tx.rows(`delete from ${table} u where u.account not in (select account from removed_usage)`);
}

/**
 * SQL: accounts whose numbers of requests have gaps, or whose stored sums claim requests that do not exist, as `fault`
 * and `subject`. Requests after a gap are never added to the stored sums.
 */
export const NUMBER_FAULTS = `
  select 'the requests of an account are not numbered without gaps' as fault, a.address as subject
  from account a
  left join (select account, count(*) as requests, max(usage_number) as last
      from inference_request where usage_number is not null group by account) r on r.account = a.address
  left join (select account, sum(requests) as requests from removed_usage group by account) m on m.account = a.address
  left join usage_rolled p on p.account = a.address
  left join usage_provider_rolled q on q.account = a.address
  where a.usage_count <> coalesce(r.requests, 0) + coalesce(m.requests, 0)
    or a.usage_count < greatest(r.last, p.usage_number, q.usage_number)`;

/** SQL: accounts whose stored sums are not those of their requests, as `fault` and `subject`. */
export const ROLLUP_FAULTS = `
  select 'the sums of usage are not those of the requests' as fault, p.account as subject
  from usage_rolled p
  cross join lateral (select coalesce(sum(requests), 0) as requests, coalesce(sum(cost), 0) as cost,
      coalesce(sum(input), 0) as input, coalesce(sum(output), 0) as output
    from (select 1 as requests, r.total_cost as cost, r.input_tokens as input, r.output_tokens as output
        from inference_request r where r.account = p.account and r.usage_number <= p.usage_number
      union all
      select m.requests, m.cost, m.input_tokens, m.output_tokens from removed_usage m where m.account = p.account) c) r
  cross join (values ('hour'), ('day'), ('month'), ('list of days')) as g(grain)
  left join (
      select account, grain, sum(requests) as requests, sum(cost) as cost, sum(input_tokens) as input,
        sum(output_tokens) as output from usage_rollup group by account, grain
      union all
      select d.account, 'list of days', sum((e->>2)::numeric), sum((e->>3)::numeric), sum((e->>4)::numeric),
        sum((e->>5)::numeric) from usage_day d cross join json_array_elements(d.usage) as e group by d.account) u
    on u.account = p.account and u.grain = g.grain
  where (r.requests, r.cost, r.input, r.output) is distinct from
    (coalesce(u.requests, 0), coalesce(u.cost, 0), coalesce(u.input, 0), coalesce(u.output, 0))`;

/**
 * SQL: tags whose stored sums are not those of their requests, as `fault` and `subject`. What was removed is counted
 * without its tokens.
 */
export const TAG_ROLLUP_FAULTS = `
  select 'the sums of usage of a tag are not those of its requests' as fault, account || ' ' || name || '=' || value as subject
  from (
    select r.account, t.name, t.value, 'requests' as source, count(*) as requests, sum(r.total_cost) as cost
    from usage_rolled p
    join inference_request r on r.account = p.account and r.usage_number <= p.usage_number and r.tags is not null
    cross join lateral jsonb_each_text(r.tags) as t(name, value)
    group by r.account, t.name, t.value
    union all
    select account, name, value, 'requests', requests, cost from removed_tag_usage
    union all
    select account, name, value, grain, sum(requests), sum(cost) from usage_tag_rollup group by account, name, value, grain
  ) s
  group by account, name, value
  having (coalesce(sum(requests) filter (where source = 'requests'), 0),
      coalesce(sum(cost) filter (where source = 'requests'), 0))
    is distinct from (coalesce(sum(requests) filter (where source = 'hour'), 0),
      coalesce(sum(cost) filter (where source = 'hour'), 0))
    or (coalesce(sum(requests) filter (where source = 'hour'), 0), coalesce(sum(cost) filter (where source = 'hour'), 0))
    is distinct from (coalesce(sum(requests) filter (where source = 'day'), 0),
      coalesce(sum(cost) filter (where source = 'day'), 0))`;

const PENDING = `
  select a.address from account a left join usage_rolled p on p.account = a.address
  left join usage_provider_rolled q on q.account = a.address
  where a.usage_count - least(coalesce(p.usage_number, 0), coalesce(q.usage_number, 0)) >= $1::bigint order by a.address limit $2::integer`;

const BEGIN = `
  insert into usage_rolled (account, usage_number) values ($1, 0) on conflict (account) do nothing`;

const SUMMED = ["requests", ...USAGE_SUMS] as const;

/**
 * A request gets its number under the lock of its account, so numbers increase in the order of commits. A reader that
 * sees a number sees all smaller ones, so reading from the last number on leaves nothing out.
 */
const ROLL_UP = `
  with rolled as (
    select usage_number from usage_rolled where account = $1 for update skip locked
  ), batch as materialized (
    select r.usage_number, r.created_at, r.api_key_id, r.model, r.trust_mode, r.tags, r.total_cost as cost,
      1 as requests, ${USAGE_SUMS.filter((name) => name !== "cost")
        .map((name) => `r.${name}`)
        .join(", ")}
    from rolled join inference_request r on r.usage_number > rolled.usage_number
    where r.account = $1 and r.usage_number is not null order by r.usage_number limit $2::integer
  ), bounds as (
    select count(*) as added, coalesce(max(usage_number), 0) - (select usage_number from rolled) as expected,
      max(usage_number) as last
    from batch having count(*) > 0
  ), sums as (
    select grain, date_trunc(grain, created_at, 'UTC') as starts_at, api_key_id, model, trust_mode,
      ${SUMMED.map((name) => `coalesce(sum(${name}), 0) as ${name}`).join(", ")},
      min(usage_number) as first_number, max(usage_number) as last_number
    from batch cross join (values ('hour'), ('day'), ('month')) as g(grain)
    where (select added = expected from bounds)
    group by grain, 2, api_key_id, model, trust_mode
  ), added as (
    insert into usage_rollup as u (account, grain, starts_at, api_key_id, model, trust_mode, ${SUMMED.join(", ")},
      first_number, last_number)
    select $1, grain, starts_at, api_key_id, model, trust_mode, ${SUMMED.join(", ")}, first_number, last_number
    from sums
    on conflict (account, grain, starts_at, model, trust_mode, api_key_id) do update set
      ${SUMMED.map((name) => `${name} = u.${name} + excluded.${name}`).join(", ")},
      first_number = least(u.first_number, excluded.first_number),
      last_number = greatest(u.last_number, excluded.last_number)
  ), tag_sums as (
    select grain, date_trunc(grain, created_at, 'UTC') as starts_at, t.name, t.value, api_key_id, model, trust_mode,
      ${SUMMED.map((name) => `coalesce(sum(${name}), 0) as ${name}`).join(", ")},
      min(usage_number) as first_number, max(usage_number) as last_number
    from batch cross join lateral jsonb_each_text(tags) as t(name, value)
    cross join (values ('hour'), ('day')) as g(grain)
    where tags is not null and (select added = expected from bounds)
    group by grain, 2, t.name, t.value, api_key_id, model, trust_mode
  ), added_by_tag as (
    insert into usage_tag_rollup as u (account, grain, starts_at, name, value, api_key_id, model, trust_mode,
      ${SUMMED.join(", ")}, first_number, last_number)
    select $1, grain, starts_at, name, value, api_key_id, model, trust_mode, ${SUMMED.join(", ")}, first_number,
      last_number
    from tag_sums
    on conflict (account, grain, name, value, starts_at, model, trust_mode, api_key_id) do update set
      ${SUMMED.map((name) => `${name} = u.${name} + excluded.${name}`).join(", ")},
      first_number = least(u.first_number, excluded.first_number),
      last_number = greatest(u.last_number, excluded.last_number)
  ), moved as (
    update usage_rolled p set usage_number = b.last from bounds b where p.account = $1 and b.added = b.expected
  )
  select added::text as added, expected::text as expected from bounds`;
