import type { Queries } from "../../db/database.ts";
import {
  type ArchivedRow,
  type ClosingSource,
  columnsOf,
  countByMonth,
  recordOf,
  rowColumn,
  selectOf,
} from "./closing-source.ts";

/** Pages of the table that are read at once: about a thousand requests. */
const PAGES = 128;

/**
 * Requests are archived in the order in which the table has them, which is that of their ends where no month was removed
 * before: so those of a month are read and removed in neighbouring pages. Their ids, which clients may choose, have no
 * order. What belongs to a request goes with it: its evidence, its hold and its job. A position is a page, and after the
 * first one the file of the table.
 *
 * A request is not removed before it ended, before it is in both kinds of sums of its account's usage, and before its
 * receipt is in the log, which stays. Another process may still be adding it to one of them.
 */
export const REQUESTS_SOURCE: ClosingSource = {
  kind: "requests",
  first: "0",
  async oldest(queries) {
    const [row] = await queries.rows<{ at: string | null }>(OLDEST);
    return row?.at ? new Date(row.at) : undefined;
  },
  async columns(queries) {
    return [
      ...(await columnsOf(queries, "inference_request", "r")),
      await rowColumn(queries, { name: "evidence", table: "request_evidence", row: "e" }),
      await rowColumn(queries, { name: "hold", table: "hold", row: "h" }),
      await rowColumn(queries, { name: "job", table: "job", row: "j" }),
    ];
  },
  async read(queries, columns, position, before) {
    const [page, file = (await fileOf(queries)).file] = position.split(" ");
    const next = Number(page) + PAGES;
    const rows = await queries.rows<ArchivedRow>(
      `select ${selectOf(columns)}
       from inference_request r
       left join usage_rolled p on p.account = r.account
       left join usage_provider_rolled q on q.account = r.account
       left join request_evidence e on e.request_id = r.id
       left join hold h on h.id = r.id
       left join job j on j.request_id = r.id
       where r.ctid >= $1::text::tid and r.ctid < $2::text::tid
         and r.finished_at::timestamptz(3) < $3::timestamptz and r.status <> 'running'
         and (r.usage_number is null or (r.usage_number <= p.usage_number and r.usage_number <= q.usage_number))
         and (h.id is null or h.state <> 'open') and (j.id is null or j.finished_at is not null)
         and not exists (select from receipt_draft d where d.request_id = r.id)
       order by r.ctid`,
      [`(${page},0)`, `(${next},0)`, before.toISOString()],
    );
    const current = await fileOf(queries);
    // The places of all rows are others then: some would be archived twice, and could not be removed.
    if (current.file !== file)
      throw new Error("the table of requests was rewritten, as VACUUM FULL does, while a month was archived");
    return {
      records: rows.map((row) => recordOf(columns, row)),
      next: next < Number(current.pages) ? `${next} ${file}` : undefined,
    };
  },
  countRows: (queries, before) => countByMonth(queries, TIMES, before),
  amounts(row) {
    const isUsage = row.usage_number != null;
    const amount = (name: string) => BigInt(row[name] ?? 0);
    return [
      ["requests", isUsage ? 1n : 0n],
      ["input_tokens", isUsage ? amount("input_tokens") : 0n],
      ["output_tokens", isUsage ? amount("output_tokens") : 0n],
      ["cost", amount("total_cost")],
    ];
  },
  async remove(tx, keys, before) {
    const [row] = await tx.rows<{ removed: string }>(REMOVE, [JSON.stringify(keys), before.toISOString()]);
    return Number(row?.removed ?? 0);
  },
  async removedTotals(queries) {
    const [row] = await queries.rows<Record<string, string>>(REMOVED);
    return Object.fromEntries(Object.entries(row ?? {}).map(([name, sum]) => [name, BigInt(sum)]));
  },
};

/** What the removed requests cost, by account and key as `account key`. */
export async function readRemovedCosts(queries: Queries): Promise<ReadonlyMap<string, bigint>> {
  const rows = await queries.rows<{ name: string; cost: string }>(
    `select account || ' ' || coalesce(api_key_id::text, '') as name, cost::text as cost
     from removed_usage where cost <> 0`,
  );
  return new Map(rows.map(({ name, cost }) => [name, BigInt(cost)]));
}

// The index of each account begins with its oldest request.
const OLDEST = `
  select min(coalesce(r.finished_at, r.created_at)) as at
  from account a cross join lateral (
    select created_at, finished_at from inference_request where account = a.address order by created_at limit 1) r`;

const TIMES = `
  select finished_at::timestamptz(3) as at from inference_request
  where status <> 'running' and finished_at::timestamptz(3) < $1::timestamptz`;

/** The file that has the table, which changes when the table is rewritten, and its pages. */
async function fileOf(queries: Queries): Promise<{ readonly file: string; readonly pages: string }> {
  const [found] = await queries.rows<{ file: string; pages: string }>(FILE);
  if (!found) throw new Error("the table of requests has no file");
  return found;
}

const FILE = `
  select pg_relation_filenode('inference_request')::text as file,
    (pg_relation_size('inference_request') / current_setting('block_size')::bigint)::text as pages`;

const SUMS = ["requests", "input_tokens", "output_tokens", "cost"] as const;

const REMOVED = `
  select ${SUMS.map((name) => `coalesce(sum(${name}), 0)::text as ${name}`).join(", ")} from removed_usage`;

const REMOVE = `
  with keys as (
    select array(select jsonb_array_elements_text($1::jsonb)) as ids
  ), jobs as (
    delete from job where request_id = any((select ids from keys)::text[])
  ), evidence as (
    delete from request_evidence where request_id = any((select ids from keys)::text[])
  ), holds as (
    delete from hold where id = any((select ids from keys)::text[]) and state <> 'open'
  ), removed as (
    delete from inference_request r
    where r.id = any((select ids from keys)::text[]) and r.finished_at::timestamptz(3) < $2::timestamptz
      and r.status <> 'running'
    returning r.account, r.api_key_id, r.usage_number, r.input_tokens, r.output_tokens, r.total_cost, r.tags
  ), tag_sums as (
    insert into removed_tag_usage as u (account, name, value, requests, cost)
    select r.account, t.name, t.value, count(*), sum(r.total_cost)
    from removed r cross join lateral jsonb_each_text(r.tags) as t(name, value)
    where r.tags is not null and r.usage_number is not null group by r.account, t.name, t.value
    on conflict (account, name, value) do update set
      requests = u.requests + excluded.requests, cost = u.cost + excluded.cost
  ), sums as (
    insert into removed_usage as u (account, api_key_id, ${SUMS.join(", ")})
    select account, api_key_id, count(usage_number),
      coalesce(sum(input_tokens) filter (where usage_number is not null), 0),
      coalesce(sum(output_tokens) filter (where usage_number is not null), 0), coalesce(sum(total_cost), 0)
    from removed group by account, api_key_id
    on conflict (account, api_key_id) do update set
      ${SUMS.map((name) => `${name} = u.${name} + excluded.${name}`).join(", ")}
  )
  select count(*)::text as removed from removed`;
