type Tag = { readonly name: string; readonly value: string };
type Stats = {
  readonly requestCount: string;
  readonly inputTokens: string;
  readonly outputTokens: string;
  readonly cost: string;
};
type TagSpend = { readonly tag: Tag; readonly stats: Stats };

/** A tag as clients send it. */
export function textOf({ name, value }: Tag): string {
  return `${name}=${value}`;
}

/** A row of the spend: of a tag, of the requests without one, or of all requests. */
export type SpendRow = {
  readonly key: string;
  /** What the row is called: the name of the tag, `Untagged` or `Total`. */
  readonly name: string;
  readonly tag?: Tag;
  readonly stats: Stats;
};

/** So many tags the graph lists at most. */
const MAX_TAGS = 100;
const FIELDS = ["requestCount", "inputTokens", "outputTokens", "cost"] as const;

/**
 * The rows of the spend by tag, and below them what all requests cost. With only the tags of one name, of which a request
 * has at most one, the difference is what the requests without that tag cost; over several names it is not known.
 */
export function spendRows(
  tags: readonly TagSpend[],
  total: Stats | undefined,
  name: string | undefined,
): readonly SpendRow[] {
  if (tags.length === 0) return [];
  const rows: SpendRow[] = tags.map(({ tag, stats }) => ({ key: textOf(tag), name: tag.name, tag, stats }));
  if (!total) return rows;
  const rest = name === undefined || tags.length >= MAX_TAGS ? undefined : without(total, tags);
  if (rest) rows.push({ key: "untagged", name: `Untagged (no ${name})`, stats: rest });
  return [...rows, { key: "total", name: "Total", stats: total }];
}

/** A share in whole percent: `<1%` for one that would be shown as none. */
export function shareText(part: bigint, whole: bigint): string {
  if (part <= 0n || whole <= 0n) return "0%";
  const percent = (part * 200n + whole) / (2n * whole);
  return percent === 0n || part * 100n < whole ? "<1%" : `${percent}%`;
}

/** The sums of all requests less those of the tags; undefined if they were read at different moments. */
function without(total: Stats, tags: readonly TagSpend[]): Stats | undefined {
  const rest = { ...total };
  for (const field of FIELDS) {
    const left = tags.reduce((sum, { stats }) => sum - BigInt(stats[field]), BigInt(total[field]));
    if (left < 0n) return undefined;
    rest[field] = left.toString();
  }
  return rest;
}
