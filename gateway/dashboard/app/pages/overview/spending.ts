import { toChartValue, toTokens } from "../../data/amounts.ts";
import { MAX_SERIES, type Series } from "../../parts/chart/series.ts";

const OTHERS = "Others";
const ALL: Group = { id: "", name: "" };
/** So many characters at the end of an id distinguish groups of one name. */
const ID_END = 6;
const PLACES = 6;
const FIXED = { isFixed: true } as const;

/** The cost of a period, or of a part of it, in neuron. */
type Cost = { readonly startsAt: string; readonly stats: { readonly cost: string } };

/** What spending is divided by, such as a key: several may have one name. */
export type Group = { readonly id: string; readonly name: string };

/** The spending of each period, by the groups that cost most; the rest is one series of its own. */
export function spendingOf<Bucket extends Cost>(
  buckets: readonly Bucket[],
  starts: readonly number[],
  groupOf: (bucket: Bucket) => Group,
): readonly Series[] {
  const positions = new Map(starts.map((start, n) => [start, n]));
  const groups = new Map<string, { readonly group: Group; readonly values: bigint[] }>();
  for (const bucket of buckets) {
    const at = positions.get(Date.parse(bucket.startsAt));
    if (at === undefined) continue;
    const group = groupOf(bucket);
    const known = groups.get(group.id) ?? { group, values: starts.map(() => 0n) };
    known.values[at] = (known.values[at] ?? 0n) + BigInt(bucket.stats.cost);
    groups.set(group.id, known);
  }
  const sorted = [...groups.values()].toSorted((one, other) => compare(sum(other.values), sum(one.values)));
  const shown = sorted.length <= MAX_SERIES ? sorted : sorted.slice(0, MAX_SERIES - 1);
  const rest = sorted.slice(shown.length);
  const names = distinctNames(shown.map(({ group }) => group));
  const series = shown.map(({ values }, n) => toSeries(names[n] ?? "", values));
  if (rest.length === 0) return series;
  const others = starts.map((_, n) => rest.reduce((total, { values }) => total + (values[n] ?? 0n), 0n));
  return [...series, toSeries(OTHERS, others)];
}

/** The names of groups; those that are called the same, or as the rest is, have the end of their id. */
function distinctNames(groups: readonly Group[]): readonly string[] {
  const alike = Map.groupBy([OTHERS, ...groups.map(({ name }) => name)], (name) => name);
  return groups.map(({ id, name }) =>
    (alike.get(name)?.length ?? 0) > 1 ? `${name} (…${id.slice(-ID_END)})` : name,
  );
}

function toSeries(name: string, values: readonly bigint[]): Series {
  return {
    name,
    values: values.map((value) => toChartValue(value.toString())),
    text: toTokens(sum(values), PLACES, FIXED),
    texts: values.map((value) => toTokens(value, PLACES, FIXED)),
  };
}

/** The spending of each period, of all groups together. */
export function totalOf(buckets: readonly Cost[], starts: readonly number[]): Pick<Series, "text" | "texts"> {
  const [all] = spendingOf(buckets, starts, () => ALL);
  const none = toTokens(0n, PLACES, FIXED);
  return all ?? { text: none, texts: starts.map(() => none) };
}

function sum(values: readonly bigint[]): bigint {
  return values.reduce((total, value) => total + value, 0n);
}

function compare(one: bigint, other: bigint): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
