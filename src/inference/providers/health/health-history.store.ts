import type { Queries } from "../../../db/database.ts";
import { percentileMs } from "../../../kernel/latency-bins.ts";
import type { Offer } from "../offer.ts";

/** What was observed of a provider's model in an hour. */
export type ProviderHour = {
  readonly provider: string;
  readonly model: string;
  readonly startsAt: Date;
  requests: number;
  failures: number;
  firstBytes: number;
  firstByteMs: number;
  /** The number of first bytes of each bin of a histogram. */
  readonly bins: number[];
};

/** What was observed of a provider's model in an hour or a day in UTC. */
export type HealthPoint = {
  readonly startsAt: Date;
  readonly requests: number;
  readonly failures: number;
  /** The mean time to the first byte and its percentiles, in milliseconds; undefined without one. */
  readonly latency: { readonly meanMs: number; readonly p50Ms: number; readonly p95Ms: number } | undefined;
};

/** An hour in which a provider's model failed most requests. */
export type FailingHour = Offer & {
  readonly startsAt: Date;
  readonly requests: number;
  readonly failures: number;
};

/** Adds to the hours, in an order that is the same in every process, so that none waits for another in a circle. */
export async function addHours(queries: Queries, hours: readonly ProviderHour[]): Promise<void> {
  await queries.rows(ADD, [
    JSON.stringify(
      hours.map((hour) => ({
        provider: hour.provider,
        model: hour.model,
        starts_at: hour.startsAt.toISOString(),
        requests: hour.requests,
        failures: hour.failures,
        first_bytes: hour.firstBytes,
        first_byte_ms: Math.round(hour.firstByteMs),
        bins: Array.from(hour.bins, (count) => count ?? 0),
      })),
    ),
  ]);
}

/**
 * The points of each group of offers since a time, oldest first; a period without requests has none. `total` is one
 * point, of all periods.
 */
export async function readPoints(
  queries: Queries,
  groups: readonly (readonly Offer[])[],
  { grain, from }: { readonly grain: "hour" | "day" | "total"; readonly from: Date },
): Promise<readonly (readonly HealthPoint[])[]> {
  const offers = groups.flatMap((group, n) => group.map((offer) => ({ ...offer, position: n + 1 })));
  const rows = await queries.rows<PointRow>(READ[grain], [JSON.stringify(offers), from.toISOString()]);
  const found = groups.map((): HealthPoint[] => []);
  for (const row of rows) found[row.position - 1]?.push(toPoint(row));
  return found;
}

/** The hours of these offers since a time in which at least 3 requests failed, and half of all; the newest 2,000. */
export async function readFailingHours(
  queries: Queries,
  offers: readonly Offer[],
  from: Date,
): Promise<readonly FailingHour[]> {
  const rows = await queries.rows<Offer & { at_ms: string; requests: string; failures: string }>(FAILING, [
    JSON.stringify(offers),
    from.toISOString(),
  ]);
  return rows.map(({ provider, model, at_ms, requests, failures }) => ({
    ...{ provider, model, startsAt: new Date(Number(at_ms)) },
    ...{ requests: Number(requests), failures: Number(failures) },
  }));
}

/** Deletes at most `limit` hours before a time. Returns how many. */
export async function deleteHours(queries: Queries, before: Date, limit: number): Promise<number> {
  const rows = await queries.rows(DELETE, [before.toISOString(), limit]);
  return rows.length;
}

type PointRow = {
  position: number;
  at_ms: string;
  requests: string;
  failures: string;
  first_bytes: string;
  first_byte_ms: string;
  bins: readonly (readonly [bin: number, count: number])[] | null;
};

function toPoint(row: PointRow): HealthPoint {
  const bins = (row.bins ?? []).map(([bin, count]) => ({ bin, count }));
  const [p50Ms, p95Ms] = [percentileMs(bins, 0.5), percentileMs(bins, 0.95)];
  const meanMs = Math.round(Number(row.first_byte_ms) / Math.max(1, Number(row.first_bytes)));
  return {
    startsAt: new Date(Number(row.at_ms)),
    requests: Number(row.requests),
    failures: Number(row.failures),
    latency: p50Ms === undefined || p95Ms === undefined ? undefined : { meanMs, p50Ms, p95Ms },
  };
}

const ADD = `
  insert into provider_hour as h (provider, model, starts_at, requests, failures, first_bytes, first_byte_ms, bins)
  select r.provider, r.model, r.starts_at, r.requests, r.failures, r.first_bytes, r.first_byte_ms,
    array(select e::bigint from jsonb_array_elements_text(r.bins) with ordinality as t(e, n) order by n)
  from jsonb_to_recordset($1::jsonb) as r (provider text, model text, starts_at timestamptz, requests bigint,
    failures bigint, first_bytes bigint, first_byte_ms bigint, bins jsonb)
  order by r.provider, r.model, r.starts_at
  on conflict (provider, model, starts_at) do update set
    requests = h.requests + excluded.requests, failures = h.failures + excluded.failures,
    first_bytes = h.first_bytes + excluded.first_bytes, first_byte_ms = h.first_byte_ms + excluded.first_byte_ms,
    bins = array(select coalesce(a, 0) + coalesce(b, 0)
      from unnest(h.bins, excluded.bins) with ordinality as t(a, b, n) order by n)`;

const points = (at: string) => `
  with hours as materialized (
    select o.position, ${at} as at, h.requests, h.failures, h.first_bytes, h.first_byte_ms, h.bins
    from jsonb_to_recordset($1::jsonb) as o (position integer, provider text, model text)
    join provider_hour h on h.provider = o.provider and h.model = o.model and h.starts_at >= $2::timestamptz
  ), counted as (
    select position, at, n, sum(c) as count from hours cross join lateral unnest(bins) with ordinality as b(c, n)
    where c > 0 group by position, at, n
  ), histograms as (
    select position, at, json_agg(json_build_array(n - 1, count)) as bins from counted group by position, at
  )
  select h.position, floor(extract(epoch from h.at) * 1000)::bigint::text as at_ms, sum(h.requests)::text as requests,
    sum(h.failures)::text as failures, sum(h.first_bytes)::text as first_bytes,
    sum(h.first_byte_ms)::text as first_byte_ms,
    (select b.bins from histograms b where b.position = h.position and b.at = h.at) as bins
  from hours h group by h.position, h.at order by h.position, h.at`;

const READ = {
  hour: points("h.starts_at"),
  day: points("date_trunc('day', h.starts_at, 'UTC')"),
  total: points("$2::timestamptz"),
} as const;

const FAILING = `
  select h.provider, h.model, floor(extract(epoch from h.starts_at) * 1000)::bigint::text as at_ms,
    h.requests::text as requests, h.failures::text as failures
  from jsonb_to_recordset($1::jsonb) as o (provider text, model text)
  join provider_hour h on h.provider = o.provider and h.model = o.model and h.starts_at >= $2::timestamptz
  where h.failures >= 3 and h.failures * 2 >= h.requests
  order by h.starts_at desc limit 2000`;

const DELETE = `
  delete from provider_hour where ctid = any(array(
    select ctid from provider_hour where starts_at < $1::timestamptz limit $2::integer)) returning 1`;
