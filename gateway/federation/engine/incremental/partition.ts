import type { InlineFragmentNode } from "graphql";
import type { PathSegment, PlanNode, QueryPlan } from "../planner.ts";
import type { TypeIndex } from "../planning/type-index.ts";
import { type AnyFetch, type FetchPart, keepParts, partsOf } from "./fetch-parts.ts";
import { addPath, hasPath, type Need, type Paths } from "./needs.ts";

/** A plan in stages: what the result needs, and what its deferred fragments need after it. */
export type Stages = {
  readonly initial: QueryPlan;
  /** Equal requests of several fragments are one node. A fragment that is not listed needs no request of its own. */
  readonly later: ReadonlyMap<InlineFragmentNode, PlanNode>;
};

type Consumer = InlineFragmentNode | undefined;
type Part = FetchPart & { readonly node: AnyFetch; readonly isMutation: boolean };

/**
 * Splits the plan of a whole operation by what its result and its deferred fragments need (`readNeeds`): the fields
 * of a request are fetched in the first stage that needs them. Types are ignored where needs are compared, so that a
 * field may be fetched earlier than necessary, and never later.
 */
export function partitionPlan(plan: QueryPlan, needs: ReadonlyMap<Consumer, Need>, types: TypeIndex): Stages {
  const { node } = plan;
  if (!node) return { initial: plan, later: new Map() };
  const parts: Part[] = [];
  visitFetches(node, [], (fetch, path) => {
    const isMutation = "operationKind" in fetch && fetch.operationKind === "mutation";
    for (const part of partsOf(fetch, path, types)) parts.push({ ...part, node: fetch, isMutation });
  });
  const consumers = assign(parts, needs);
  const fragments = [...needs].flatMap(([fragment, { outer }]) =>
    fragment && hasOwnPart(fragment, outer, needs, consumers) ? [fragment] : [],
  );
  const variants = new Map<string, AnyFetch>();
  const numbers = new Map<AnyFetch, number>();
  const select = (isWanted: (consumers: ReadonlySet<Consumer>) => boolean) =>
    filterPlan(node, (fetch) => {
      const own = parts.filter((part) => part.node === fetch);
      const wanted = own.filter((part) => isWanted(consumers.get(part) ?? new Set()));
      if (wanted.length === 0) return [];
      if (!numbers.has(fetch)) numbers.set(fetch, numbers.size);
      return groupBySet(wanted, consumers).map((alike) => {
        const key = `${numbers.get(fetch)} ${alike.map(({ id }) => id).join(" ")}`;
        const variant =
          variants.get(key) ??
          (alike.length === own.length ? fetch : keepParts(fetch, new Set(alike.map(({ id }) => id))));
        variants.set(key, variant);
        return variant;
      });
    });
  const initial = select((of) => of.has(undefined));
  const later = fragments.flatMap((fragment): [InlineFragmentNode, PlanNode][] => {
    const own = select((of) => of.has(fragment) && !of.has(undefined));
    return own ? [[fragment, own]] : [];
  });
  return { initial: { ...plan, node: initial ?? null }, later: new Map(later) };
}

/** The consumers of each part. A part without a known consumer, and every mutation, belongs to the initial result. */
function assign(
  parts: readonly Part[],
  needs: ReadonlyMap<Consumer, Need>,
): ReadonlyMap<Part, ReadonlySet<Consumer>> {
  const consumers = new Map<Part, Set<Consumer>>(parts.map((part) => [part, new Set()]));
  const consume = (consumer: Consumer, paths: Paths) => {
    for (let isChanged = true; isChanged; ) {
      isChanged = false;
      for (const [part, of] of consumers) {
        if (of.has(consumer)) continue;
        const isNeeded =
          part.fills.some((path) => hasPath(paths, path)) || (part.isMutation && consumer === undefined);
        if (!isNeeded) continue;
        of.add(consumer);
        for (const path of part.requires) addPath(paths, path);
        isChanged = true;
      }
    }
  };
  for (const [consumer, { paths }] of needs) consume(consumer, paths);
  const initial = needs.get(undefined)?.paths ?? new Map();
  for (const [part, of] of consumers) {
    if (of.size > 0 || part.isType) continue;
    of.add(undefined);
    for (const path of part.requires) addPath(initial, path);
  }
  consume(undefined, initial);
  return consumers;
}

/** Whether a fragment needs a request that neither the result nor a fragment around it needs. */
function hasOwnPart(
  fragment: InlineFragmentNode,
  outer: Consumer,
  needs: ReadonlyMap<Consumer, Need>,
  consumers: ReadonlyMap<Part, ReadonlySet<Consumer>>,
): boolean {
  const around = new Set<Consumer>([undefined]);
  for (let at = outer; at; at = needs.get(at)?.outer) around.add(at);
  return [...consumers.values()].some((of) => of.has(fragment) && ![...of].some((one) => around.has(one)));
}

/** Parts with the same consumers are one request, but those of the result always are. */
function groupBySet(
  parts: readonly Part[],
  consumers: ReadonlyMap<Part, ReadonlySet<Consumer>>,
): readonly (readonly Part[])[] {
  const groups: { readonly of: ReadonlySet<Consumer>; readonly parts: Part[] }[] = [];
  for (const part of parts) {
    const of = consumers.get(part) ?? new Set();
    const group = groups.find((one) => areAlike(one.of, of));
    if (group) group.parts.push(part);
    else groups.push({ of, parts: [part] });
  }
  return groups.map((group) => group.parts);
}

function areAlike(one: ReadonlySet<Consumer>, other: ReadonlySet<Consumer>): boolean {
  if (one.has(undefined) && other.has(undefined)) return true;
  return one.size === other.size && [...one].every((consumer) => other.has(consumer));
}

function visitFetches(
  node: PlanNode,
  path: readonly PathSegment[],
  visit: (fetch: AnyFetch, path: readonly PathSegment[]) => void,
): void {
  switch (node.kind) {
    case "Sequence":
    case "Parallel":
      for (const child of node.nodes) visitFetches(child, path, visit);
      return;
    case "Flatten":
      visitFetches(node.node, node.path, visit);
      return;
    case "Condition":
      for (const branch of [node.ifClause, node.elseClause]) if (branch) visitFetches(branch, path, visit);
      return;
    case "Subscription":
    case "Defer":
      throw new Error(`unexpected ${node.kind} node in the plan`);
    default:
      visit(node, path);
  }
}

/** The plan with other requests in place of each; undefined when none is left. */
function filterPlan(node: PlanNode, select: (fetch: AnyFetch) => readonly AnyFetch[]): PlanNode | undefined {
  switch (node.kind) {
    case "Sequence":
    case "Parallel": {
      const nodes = node.nodes.flatMap((child) => filterPlan(child, select) ?? []);
      return nodes.length > 0 ? { ...node, nodes } : undefined;
    }
    case "Flatten": {
      const inner = filterPlan(node.node, select);
      return inner && { ...node, node: inner };
    }
    case "Condition": {
      const ifClause = node.ifClause ? filterPlan(node.ifClause, select) : undefined;
      const elseClause = node.elseClause ? filterPlan(node.elseClause, select) : undefined;
      return ifClause || elseClause
        ? { ...node, ifClause: ifClause ?? null, elseClause: elseClause ?? null }
        : undefined;
    }
    case "Subscription":
    case "Defer":
      throw new Error(`unexpected ${node.kind} node in the plan`);
    default: {
      const nodes = select(node);
      const [only, second] = nodes;
      return second ? { kind: "Parallel", nodes } : only;
    }
  }
}
