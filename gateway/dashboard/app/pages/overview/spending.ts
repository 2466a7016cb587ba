import { toChartValue, toTokens } from "../../data/amounts.ts";
import { MAX_SERIES, type Series } from "../../parts/chart/series.ts";

const OTHERS = "Others";
const PLACES = 6;
const FIXED = { isFixed: true } as const;

/** The cost of a period, or of a part of it, in neuron. */
type Cost = { readonly startsAt: string; readonly stats: { readonly cost: string } };

/** The spending of each period, by the groups that cost most; the rest is one series of its own. */
export function spendingOf<Bucket extends Cost>(
  buckets: readonly Bucket[],
  starts: readonly number[],
  nameOf: (bucket: Bucket) => string,
): readonly Series[] {
  const positions = new Map(starts.map((start, n) => [start, n]));
  const groups = new Map<string, bigint[]>();
  for (const bucket of buckets) {
    const at = positions.get(Date.parse(bucket.startsAt));
    if (at === undefined) continue;
    const values = groups.get(nameOf(bucket)) ?? starts.map(() => 0n);
    values[at] = (values[at] ?? 0n) + BigInt(bucket.stats.cost);
    groups.set(nameOf(bucket), values);
  }
  const sorted = [...groups].toSorted(([, one], [, other]) => compare(sum(other), sum(one)));
  const shown = sorted.length <= MAX_SERIES ? sorted : sorted.slice(0, MAX_SERIES - 1);
  const rest = sorted.slice(shown.length);
  const others = starts.map((_, n) => rest.reduce((total, [, values]) => total + (values[n] ?? 0n), 0n));
  return [...shown, ...(rest.length > 0 ? [[OTHERS, others] as const] : [])].map(([name, values]) => ({
    name,
    values: values.map((value) => toChartValue(value.toString())),
    text: toTokens(sum(values), PLACES, FIXED),
    texts: values.map((value) => toTokens(value, PLACES, FIXED)),
  }));
}

/** The spending of each period, of all groups together. */
export function totalOf(buckets: readonly Cost[], starts: readonly number[]): Pick<Series, "text" | "texts"> {
  const [all] = spendingOf(buckets, starts, () => "");
  const none = toTokens(0n, PLACES, FIXED);
  return all ?? { text: none, texts: starts.map(() => none) };
}

function sum(values: readonly bigint[]): bigint {
  return values.reduce((total, value) => total + value, 0n);
}

function compare(one: bigint, other: bigint): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
