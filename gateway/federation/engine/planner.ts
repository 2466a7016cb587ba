/** The planner's result: the subgraph requests of one operation, and their order. */
export type QueryPlan = { readonly node?: PlanNode | null };

/** One step of a plan. */
export type PlanNode =
  | FetchNode
  | BatchFetchNode
  | { readonly kind: "Sequence" | "Parallel"; readonly nodes: readonly PlanNode[] }
  | { readonly kind: "Flatten"; readonly path: readonly PathSegment[]; readonly node: PlanNode }
  | ConditionNode
  | SubscriptionNode
  | { readonly kind: "Defer" };

/** One request to one subgraph. With `requires` it is an entity fetch, inside a Flatten. */
export type FetchNode = SubgraphOperation & {
  readonly kind?: "Fetch";
  readonly requires?: readonly RequiredSelection[];
  readonly inputRewrites?: readonly Rewrite[];
  readonly outputRewrites?: readonly Rewrite[];
};

/** Several entity fetches from one subgraph, merged into one request under aliases. */
export type BatchFetchNode = SubgraphOperation & {
  readonly kind: "BatchFetch";
  readonly entityBatch: { readonly aliases: readonly EntityAlias[] };
};

/** The request of any kind of fetch. */
export type SubgraphOperation = {
  readonly serviceName: string;
  readonly operation: string;
  readonly operationKind?: "query" | "mutation" | "subscription";
  readonly variableUsages?: readonly string[];
};

/** One `_entities` field of a request: the paths of its entities, and their representations. */
export type EntityAlias = {
  readonly alias: string;
  readonly representationsVariableName: string;
  readonly paths: readonly (readonly PathSegment[])[];
  readonly requires: readonly RequiredSelection[];
  readonly inputRewrites?: readonly Rewrite[];
  readonly outputRewrites?: readonly Rewrite[];
};

/** Runs one of two branches, by a Boolean variable of the operation. */
export type ConditionNode = {
  readonly kind: "Condition";
  readonly condition: string;
  readonly ifClause?: PlanNode | null;
  readonly elseClause?: PlanNode | null;
};

/** The source of a subscription's events: the only node, or the first of a Sequence. */
type SubscriptionNode = { readonly kind: "Subscription"; readonly primary: FetchNode };

/** A step of a path into the data: a field, every item of a list, or objects of these types only. */
export type PathSegment = { readonly Field: string } | { readonly TypeCondition: readonly string[] } | "@";

/** A part of an entity contained in its representation. */
export type RequiredSelection =
  | {
      readonly kind: "Field";
      readonly name: string;
      readonly alias?: string;
      readonly selections?: readonly RequiredSelection[];
    }
  | {
      readonly kind: "InlineFragment";
      readonly typeCondition: string;
      readonly selections: readonly RequiredSelection[];
      readonly skipIf?: string;
      readonly includeIf?: string;
    }
  | { readonly kind: "FragmentSpread"; readonly value: string };

/** A change to the data sent to or received from a subgraph; the planner writes it in one of two forms. */
export type Rewrite =
  | { readonly ValueSetter: ValueSetter }
  | { readonly KeyRenamer: KeyRenamer }
  | ({ readonly kind: "ValueSetter" } & ValueSetter);

/** Sets the value at a path. */
type ValueSetter = { readonly path: readonly RewriteSegment[]; readonly setValueTo: string };

/** Renames the last key of a path. */
type KeyRenamer = { readonly path: readonly RewriteSegment[]; readonly renameKeyTo: string };

/** A path segment of a rewrite; lists are traversed without a segment. */
export type RewriteSegment = { readonly Key: string } | { readonly TypenameEquals: readonly string[] };

/** Turns an operation into the subgraph requests that answer it. */
export interface Planner {
  /** `operationText` must be valid against the public schema. Throws a GraphQLError when planning is refused. */
  plan(
    operationText: string,
    operationName: string | null,
    overrides: Overrides,
  ): QueryPlan | Promise<QueryPlan>;
}

/** Active progressive overrides: labels by name, and `percent(p)` where `percentage` is below `p`. */
export type Overrides = { readonly labels: ReadonlySet<string>; readonly percentage: number };
