import { type DocumentNode, getOperationAST, Kind, type SelectionSetNode } from "graphql";
import { both, type Condition, compileCondition } from "./document/conditions.ts";
import { readFragments } from "./document/fragments.ts";
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
import type { FetchNode } from "./planner.ts";
import { compileRewrites } from "./planning/rewrites.ts";
import type { SubgraphOperations } from "./planning/subgraph-operations.ts";
import type { TypeIndex } from "./planning/type-index.ts";
import type { JsonObject, SubgraphError, SubgraphResult } from "./subgraph-executor.ts";

/** A fetch of root fields, ready to send and to settle. */
export type RootFetch<C> = {
  readonly operation: Operation;
  readonly variables: (variables: Readonly<JsonObject>) => JsonObject;
  /** Merges a result into the data, and adds its errors at the client's paths. */
  settle(execution: Execution<C>, result: SubgraphResult): void;
};

/** What compiling a fetch needs of the supergraph. */
type FetchContext = { readonly types: TypeIndex; readonly operations: SubgraphOperations };

/** Compiles a fetch of root fields into a step. */
export function compileFetchStep<C>(node: FetchNode, subgraph: Subgraph<C>, context: FetchContext): Step<C> {
  const fetch = compileRootFetch<C>(node, context);
  return (execution) =>
    requestSubgraph(subgraph, fetch.operation, fetch.variables(execution.variables), execution, (result) =>
      fetch.settle(execution, result),
    );
}

/** Compiles the parts of a root fetch; a subscription sends it once and settles it for every event. */
export function compileRootFetch<C>(node: FetchNode, { types, operations }: FetchContext): RootFetch<C> {
  const operation = operations.of(node);
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
