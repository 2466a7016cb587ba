import { type GraphQLSchema, isInterfaceType, isObjectType } from "graphql";

/** The active progressive overrides (`@override(label:)`) of one request. Equal keys have equal plans. */
export type Rollout = {
  readonly key: string;
  readonly labels: ReadonlySet<string>;
  /** Overrides labelled `percent(p)` are active if this is below `p`. */
  readonly percentage: number;
};

/** Selects the active overrides of a request. */
export type RolloutOptions<C> = {
  /** Labels active for this request; empty by default. `percent(p)` labels are random. */
  readonly labels?: (context: C) => ReadonlySet<string>;
  /** A random number from 0 up to 1. */
  readonly random?: () => number;
};

const NONE: Rollout = { key: "", labels: new Set(), percentage: 0 };

/**
 * Chooses the active overrides of each request. The number of plans of an operation depends on the distinct
 * percentages in the supergraph, not on the number of random values.
 */
export function createRollouts<C>(
  supergraph: GraphQLSchema,
  { labels = () => NONE.labels, random = Math.random }: RolloutOptions<C> = {},
): (context: C) => Rollout {
  const known = readLabels(supergraph);
  if (known.size === 0) return () => NONE;
  const steps = [...known].map(percentOf).filter((step) => step !== undefined);
  const edges = [...new Set(steps)].sort((one, other) => one - other);
  return (context) => {
    const drawn = random() * 100;
    const next = edges.findIndex((edge) => drawn < edge);
    const percentage = next === -1 ? 100 : (edges[next - 1] ?? 0);
    const active = [...labels(context)].filter((label) => known.has(label)).sort();
    return { key: ` %${percentage} ${active.join(" ")}`, labels: new Set(active), percentage };
  };
}

function percentOf(label: string): number | undefined {
  const [, text] = /^percent\((\d{1,3}(?:\.\d{1,8})?)\)$/.exec(label) ?? [];
  return text === undefined ? undefined : Number(text);
}

function readLabels(supergraph: GraphQLSchema): ReadonlySet<string> {
  const found = new Set<string>();
  for (const type of Object.values(supergraph.getTypeMap())) {
    if (!isObjectType(type) && !isInterfaceType(type)) continue;
    for (const { astNode } of Object.values(type.getFields()))
      for (const { name, arguments: given = [] } of astNode?.directives ?? [])
        for (const { name: argument, value } of name.value === "join__field" ? given : [])
          if (argument.value === "overrideLabel" && value.kind === "StringValue") found.add(value.value);
  }
  return found;
}
