import { useMemo } from "react";
import { useQuery } from "urql";
import { toChartValue } from "../../data/amounts.ts";
import { graphql } from "../../data/query/graph.ts";
import { usePeriod } from "../../data/use-period.ts";
import type { SparkDay } from "../../parts/chart/sparkline.tsx";

const SPEND = graphql(`
  query KeySpend($from: DateTime!, $keys: [ID!]!) {
    viewer {
      account {
        usage(from: $from, apiKeyIds: $keys) {
          buckets(by: DAY, groupBy: [API_KEY]) { startsAt apiKeyId stats { cost } }
        }
      }
    }
  }
`);

/** How many days a chart of a key has, the present one included. */
export const SPEND_DAYS = 30;
const DAY_MS = 86_400_000;

/** What a key was charged, by UTC day, oldest first. */
export type KeySpend = { readonly days: readonly SparkDay[]; readonly total: bigint; readonly most: bigint };

type Key = { readonly id: string; readonly keyId: string };

/** What a key was charged; undefined until it is known. */
export type SpendOf = (key: Key) => KeySpend | undefined;

/** The spend of every key of a page, in one query. */
export function useKeySpend(keys: readonly Key[] | undefined): SpendOf {
  const from = usePeriod(DAY_MS) - (SPEND_DAYS - 1) * DAY_MS;
  const ids = useMemo(() => keys?.map(({ id }) => id) ?? [], [keys]);
  const [{ data, operation }] = useQuery({
    query: SPEND,
    variables: { from: new Date(from).toISOString(), keys: ids },
    pause: ids.length === 0,
  });
  const buckets = data?.viewer?.account?.usage?.buckets;
  // The answer may be that for the keys of another page: it says nothing of keys that were not in its query.
  const read = operation?.variables;
  return useMemo(() => {
    if (!buckets || !read) return () => undefined;
    const known = new Set([read.keys].flat());
    const since = Date.parse(read.from);
    const costs = new Map<string, Map<string, string>>();
    for (const { apiKeyId, startsAt, stats } of buckets) {
      const days = costs.get(apiKeyId ?? "") ?? new Map<string, string>();
      costs.set(apiKeyId ?? "", days.set(startsAt.slice(0, 10), stats.cost));
    }
    return ({ id, keyId }) => (known.has(id) ? toSpend(costs.get(keyId), since) : undefined);
  }, [buckets, read]);
}

function toSpend(costs: ReadonlyMap<string, string> | undefined, from: number): KeySpend {
  const days = Array.from({ length: SPEND_DAYS }, (_, n) => {
    const date = new Date(from + n * DAY_MS).toISOString().slice(0, 10);
    return { date, value: toChartValue(costs?.get(date) ?? "0") };
  });
  const spent = [...(costs?.values() ?? [])].map((cost) => BigInt(cost));
  const total = spent.reduce((sum, cost) => sum + cost, 0n);
  return { days, total, most: spent.reduce((most, cost) => (cost > most ? cost : most), 0n) };
}
