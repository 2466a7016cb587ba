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
import { copyJson, mergeInto } from "./merge.ts";
import type { EntityAlias, SubgraphOperation } from "./planner.ts";
import { compileFlattenPath, type FlattenPath } from "./planning/flatten-path.ts";
import {
  compileIdentity,
  compileRepresentation,
  type OptionalParts,
  type Represent,
} from "./planning/representation.ts";
import { type Requirements, withoutDependents } from "./planning/requirements.ts";
import { compileRewrites, type Rewrites } from "./planning/rewrites.ts";
import type { SubgraphOperations } from "./planning/subgraph-operations.ts";
import type { TypeIndex } from "./planning/type-index.ts";
import {
  isObject,
  type JsonObject,
  type MaybePromise,
  type ResponsePath,
  type SubgraphError,
  type SubgraphResult,
} from "./subgraph-executor.ts";

/** The most errors recorded for one failed request: a list of thousands must not produce thousands. */
const MAX_ERRORS_PER_FETCH = 100;

/** What compiling a fetch of entities needs of the supergraph. */
type EntityContext = {
  readonly types: TypeIndex;
  readonly requirements: Requirements;
  readonly operations: SubgraphOperations;
};

/** One `_entities` field, compiled. */
type EntityField = {
  readonly alias: string;
  readonly variable: string;
  readonly paths: readonly FlattenPath[];
  readonly represent: Represent;
  readonly identify: (representation: JsonObject) => string;
  readonly inputRewrites: Rewrites | undefined;
  readonly outputRewrites: Rewrites | undefined;
};

/** The part of the data that one `_entities` field requests: by position, the target objects of its results. */
type Batch = {
  readonly field: EntityField;
  readonly representations: JsonObject[];
  readonly targets: JsonObject[][];
};

/** Selects the entities that lack exactly these parts. Other sets of missing parts are added to `incomplete`. */
type Wanted = { readonly missing: string; readonly incomplete: Set<string> };

/**
 * Compiles a fetch of entities: one `_entities` field, or several under aliases. Equal entities are requested once.
 * Nothing is sent when there is no entity. Entities that lack parts needed by only some fields are fetched in a
 * separate request, without those fields.
 */
export function compileEntityStep<C>(
  node: SubgraphOperation,
  aliases: readonly EntityAlias[],
  subgraph: Subgraph<C>,
  { types, requirements, operations }: EntityContext,
): Step<C> {
  const whole = operations.of(node);
  const pick = pickVariables(node.variableUsages);
  const optionalOf = (type: string) => requirements.ofType(subgraph.name, type);
  const fields = aliases.map((alias) => compileField(alias, types, optionalOf));
  const fetch = (operation: Operation, execution: Execution<C>, wanted: Wanted): MaybePromise<void> => {
    const variables = pick(execution.variables);
    let count = 0;
    const batches = fields.map((field) => {
      const batch = collect(field, execution, wanted);
      variables[field.variable] = batch.representations;
      count += batch.representations.length;
      return batch;
    });
    if (count === 0) return;
    return requestSubgraph(subgraph, operation, variables, execution, (result) =>
      settle(batches, execution, result),
    );
  };
  const reduced = new Map<string, Operation | undefined>();
  const reduce = (missing: string) => {
    const known = { requirements, missing: missing.split(" ") };
    if (!reduced.has(missing)) reduced.set(missing, withoutDependents(whole.document, subgraph.name, known));
    return reduced.get(missing);
  };
  return (execution) => {
    const incomplete = new Set<string>();
    const running = fetch(whole, execution, { missing: "", incomplete });
    if (incomplete.size === 0) return running;
    const others = [...incomplete].map((missing) => {
      const operation = reduce(missing);
      return operation && fetch(operation, execution, { missing, incomplete });
    });
    return Promise.all([running, ...others]).then(() => {});
  };
}

function compileField(alias: EntityAlias, types: TypeIndex, optionalOf: OptionalParts): EntityField {
  return {
    alias: alias.alias,
    variable: alias.representationsVariableName,
    paths: alias.paths.map((path) => compileFlattenPath(path, types)),
    represent: compileRepresentation(alias.requires, types, optionalOf),
    identify: compileIdentity(alias.requires),
    inputRewrites: compileRewrites(alias.inputRewrites, types),
    outputRewrites: compileRewrites(alias.outputRewrites, types),
  };
}

function collect<C>(field: EntityField, execution: Execution<C>, { missing, incomplete }: Wanted): Batch {
  const representations: JsonObject[] = [];
  const targets: JsonObject[][] = [];
  const positions = new Map<string, JsonObject[]>();
  const lacking: string[] = [];
  const add = (entity: JsonObject) => {
    lacking.length = 0;
    const representation = field.represent(entity, execution.variables, lacking);
    if (!representation) return;
    const lacks = lacking.length > 0 ? lacking.sort().join(" ") : "";
    if (lacks !== "") incomplete.add(lacks);
    if (lacks !== missing) return;
    const identity = field.identify(representation);
    const alike = positions.get(identity);
    if (alike) {
      alike.push(entity);
      return;
    }
    const first = [entity];
    positions.set(identity, first);
    targets.push(first);
    field.inputRewrites?.apply(representation);
    representations.push(representation);
  };
  for (const path of field.paths) path.visit(execution.data, add);
  return { field, representations, targets };
}

function settle<C>(batches: readonly Batch[], execution: Execution<C>, result: SubgraphResult): void {
  if (result.errors) addErrors(batches, execution, result, result.errors);
  for (const { field, targets } of batches) {
    const entities = result.data?.[field.alias];
    if (!Array.isArray(entities)) continue;
    for (const [position, places] of targets.entries()) {
      const entity: unknown = entities[position];
      if (isObject(entity)) place(entity, places, field);
    }
  }
}

function place(entity: JsonObject, places: readonly JsonObject[], field: EntityField): void {
  field.outputRewrites?.apply(entity);
  for (const [index, target] of places.entries()) {
    mergeInto(target, index === places.length - 1 ? entity : copyJson(entity));
  }
}

/** Adds each error to every entity it refers to; an error without a path refers to all entities that are missing. */
function addErrors<C>(
  batches: readonly Batch[],
  execution: Execution<C>,
  result: SubgraphResult,
  errors: readonly SubgraphError[],
): void {
  const pathsOf = tracePaths(batches, execution.data);
  let left = MAX_ERRORS_PER_FETCH;
  const add = (error: SubgraphError, path: ResponsePath | undefined) => {
    if (left-- > 0) execution.errors.push(toClientError(error, path));
  };
  for (const error of errors) {
    const affected = affectedBy(error, batches, result);
    for (const { target, rest, nulled } of affected) {
      for (const path of pathsOf.get(target) ?? []) {
        execution.nulled.push(toClientPath([...path, ...nulled]));
        add(error, [...path, ...rest]);
      }
    }
    if (affected.length === 0) add(error, undefined);
  }
}

type Affected = {
  readonly target: JsonObject;
  /** The error's path within the target, and the path at which it left a null. */
  readonly rest: Readonly<ResponsePath>;
  readonly nulled: Readonly<ResponsePath>;
};

function affectedBy(error: SubgraphError, batches: readonly Batch[], result: SubgraphResult): Affected[] {
  const [alias, position, ...inside] = error.path ?? [];
  const named = batches.find((batch) => batch.field.alias === alias);
  if (named && typeof position === "number") {
    const rename = (path: Readonly<ResponsePath>) => named.field.outputRewrites?.rename(path) ?? path;
    const entities = result.data?.[named.field.alias];
    const rest = rename(inside);
    const nulled = rename(nulledBy(Array.isArray(entities) ? entities[position] : null, inside));
    return (named.targets[position] ?? []).map((target) => ({ target, rest, nulled }));
  }
  return (named ? [named] : batches).flatMap(({ field, targets }) => {
    const entities = result.data?.[field.alias];
    const missing = targets.filter((_, at) => !Array.isArray(entities) || !isObject(entities[at]));
    return missing.flat().map((target) => ({ target, rest: [], nulled: [] }));
  });
}

/** Walks the data again, recording paths: only errors need them. */
function tracePaths(batches: readonly Batch[], data: JsonObject): Map<JsonObject, ResponsePath[]> {
  const paths = new Map<JsonObject, ResponsePath[]>();
  for (const path of batches.flatMap((batch) => batch.field.paths)) {
    path.trace(data, (entity, at) => {
      const known = paths.get(entity);
      if (known) known.push(at);
      else paths.set(entity, [at]);
    });
  }
  return paths;
}
