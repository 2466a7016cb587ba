import { type DocumentNode, getOperationAST, Kind, parse, print, type SelectionSetNode } from "graphql";
import { both, type Condition, compileCondition } from "./document/conditions.ts";
import { countWrittenOut, readFragments, writeOutFragments } from "./document/fragments.ts";
import {
  type Execution,
  nulledBy,
  type Operation,
  pickVariables,
  requestSubgraph,
  type Step,
  type Subgraph,
  toClientError,
  toClientPath,
} from "./execution.ts";
import { mergeInto } from "./merge.ts";
import type { FetchNode, SubgraphOperation } from "./planner.ts";
import { compileRewrites } from "./planning/rewrites.ts";
import type { TypeIndex } from "./planning/type-index.ts";
import { refusal } from "./refusal.ts";
import type { JsonObject, SubgraphError, SubgraphResult } from "./subgraph-executor.ts";

/** The most selections of one subgraph request, with the planner's fragments inlined. */
const MAX_WRITTEN_OUT = 20_000;

/** A fetch of root fields, ready to send and to settle. */
export type RootFetch<C> = {
  readonly operation: Operation;
  readonly variables: (variables: Readonly<JsonObject>) => JsonObject;
  /** Merges a result into the data, and adds its errors at the client's paths. */
  settle(execution: Execution<C>, result: SubgraphResult): void;
};

/**
 * Reads the operation of a fetch, once per plan. The planner puts repeated selections into fragments, also under
 * different conditions. graphql-jit, which our subgraphs run on, stores conditions in the nodes of a fragment, and
 * so mixes up those of its spreads. Therefore fragments are inlined, with separate nodes for each spread.
 */
export function readOperation({ operation }: SubgraphOperation): Operation {
  const document = parse(operation, { noLocation: true });
  const fragments = readFragments(document);
  if (fragments.size === 0) return { document, text: operation };
  if (countWrittenOut(document, fragments) > MAX_WRITTEN_OUT)
    throw refusal("The plan of this operation is too large. Split it into smaller operations.");
  const text = print(writeOutFragments(document, fragments));
  return { document: parse(text, { noLocation: true }), text };
}

/** Compiles a fetch of root fields into a step. */
export function compileFetchStep<C>(node: FetchNode, subgraph: Subgraph<C>, types: TypeIndex): Step<C> {
  const fetch = compileRootFetch<C>(node, types);
  return (execution) =>
    requestSubgraph(subgraph, fetch.operation, fetch.variables(execution.variables), execution, (result) =>
      fetch.settle(execution, result),
    );
}

/** Compiles the parts of a root fetch; a subscription sends it once and settles it for every event. */
export function compileRootFetch<C>(node: FetchNode, types: TypeIndex): RootFetch<C> {
  const operation = readOperation(node);
  const rewrites = compileRewrites(node.outputRewrites, types);
  const rename = (path: readonly (string | number)[]) => rewrites?.rename(path) ?? [...path];
  const rootKeys = readRootKeys(operation.document).map(({ key, condition }) => {
    return { key: String(rename([key])[0]), condition };
  });
  const addError = (execution: Execution<C>, error: SubgraphError) => {
    if (error.path && error.path.length > 0) {
      execution.errors.push(toClientError(error, rename(error.path)));
      return;
    }
    const missing = rootKeys.filter(
      ({ key, condition }) =>
        (execution.data[key] ?? null) === null && condition?.(execution.variables) !== false,
    );
    for (const { key } of missing) execution.errors.push(toClientError(error, [key]));
    if (missing.length === 0) execution.errors.push(toClientError(error, undefined));
  };
  return {
    operation,
    variables: pickVariables(node.variableUsages),
    settle(execution, { data, errors = [] }) {
      const paths = errors.flatMap(({ path }) => (path && path.length > 0 ? [path] : []));
      if (data) {
        for (const path of paths) execution.nulled.push(toClientPath(rename(nulledBy(data, [...path]))));
        rewrites?.apply(data);
        mergeInto(execution.data, data);
      } else if (paths.length > 0) {
        for (const { key } of rootKeys) execution.nulled.push(toClientPath([key]));
      }
      // A failed field was still fetched: see `isBroken`.
      if (node.operationKind === "mutation") for (const { key } of rootKeys) execution.data[key] ??= null;
      for (const error of errors) addError(execution, error);
    },
  };
}

type RootKey = { readonly key: string; readonly condition: Condition };

/** The response keys of the root fields, to which errors of an unreachable subgraph are assigned. */
function readRootKeys(document: DocumentNode): RootKey[] {
  const fragments = readFragments(document);
  const found: RootKey[] = [];
  const read = (set: SelectionSetNode | undefined, outer: Condition) => {
    for (const selection of set?.selections ?? []) {
      const condition = both(outer, compileCondition(selection.directives));
      if (selection.kind === Kind.FIELD) {
        found.push({ key: (selection.alias ?? selection.name).value, condition });
      } else if (selection.kind === Kind.INLINE_FRAGMENT) read(selection.selectionSet, condition);
      else read(fragments.get(selection.name.value)?.selectionSet, condition);
    }
  };
  read(getOperationAST(document)?.selectionSet, undefined);
  return found;
}
