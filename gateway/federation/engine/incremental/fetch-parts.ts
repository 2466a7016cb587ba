import { Kind, print, type SelectionNode, type SelectionSetNode } from "graphql";
import type { BatchFetchNode, EntityAlias, FetchNode, PathSegment, RequiredSelection } from "../planner.ts";
import { withoutUnusedVariables } from "../planning/requirements.ts";
import { compileRewrites } from "../planning/rewrites.ts";
import { readOperation } from "../planning/subgraph-operations.ts";
import type { TypeIndex } from "../planning/type-index.ts";

/** A request of a plan. */
export type AnyFetch = FetchNode | BatchFetchNode;

/** A field that a request fetches, which can be left out of it. */
export type FetchPart = {
  /** Identifies the part within its request. */
  readonly id: string;
  /** The places in the data that it may fill; a place ends before the field where the part is a whole object. */
  readonly fills: readonly (readonly string[])[];
  /** The data that must be there before. */
  readonly requires: readonly (readonly string[])[];
  /** Whether it is the type of the objects, which every request with their fields fetches too. */
  readonly isType?: boolean;
};

const TYPENAME = "__typename";

/** The parts of a request: its root fields, or the fields of its entities. `path` is that of the Flatten around it. */
export function partsOf(
  node: AnyFetch,
  path: readonly PathSegment[],
  types: TypeIndex,
): readonly FetchPart[] {
  const entities = entitiesOf(node, path);
  const roots = rootsOf(node);
  if (!entities) {
    const rename = compileRewrites(node.kind === "BatchFetch" ? [] : node.outputRewrites, types)?.rename;
    return [...keysOf(roots)].map((key) => {
      const fills = [rename ? [String(rename([key])[0])] : [key]];
      return { id: key, fills, requires: [] };
    });
  }
  return entities.flatMap((alias) => {
    const rename = compileRewrites(alias.outputRewrites, types)?.rename;
    const places = alias.paths.map(fieldsOf);
    const requires = places.flatMap((place) =>
      alias.requires.flatMap((required) => pathsOf(required)).map((inner) => [...place, ...inner]),
    );
    const own = selectionsAt(roots, alias.alias);
    const keys = [...keysOf(own)];
    // The request only learns the type of its objects.
    if (keys.every((key) => key === TYPENAME)) return [{ id: alias.alias, fills: places, requires }];
    return keys.map((key) => {
      const renamed = rename ? String(rename([key])[0]) : key;
      const fills = places.map((place) => [...place, renamed]);
      return { id: `${alias.alias}.${key}`, fills, requires, isType: key === TYPENAME };
    });
  });
}

/** The request with some of its parts only. */
export function keepParts<T extends AnyFetch>(node: T, ids: ReadonlySet<string>): T {
  const { document } = readOperation(node);
  const isEntity = entitiesOf(node, []) !== undefined;
  const names = new Set([...ids].map((id) => id.split(".", 1)[0]));
  const keepInside = (alias: string, set: SelectionSetNode | undefined): SelectionSetNode | undefined =>
    !set || ids.has(alias)
      ? set
      : (filterFields(set, (key) => key === TYPENAME || ids.has(`${alias}.${key}`)) ?? TYPENAMES);
  const kept = {
    ...document,
    definitions: document.definitions.map((definition) => {
      if (definition.kind !== Kind.OPERATION_DEFINITION) return definition;
      const selectionSet =
        filterFields(definition.selectionSet, (key) => names.has(key)) ?? definition.selectionSet;
      if (!isEntity) return { ...definition, selectionSet };
      const selections = selectionSet.selections.map((selection) =>
        selection.kind === Kind.FIELD
          ? { ...selection, selectionSet: keepInside(keyOf(selection), selection.selectionSet) }
          : selection,
      );
      return { ...definition, selectionSet: { ...selectionSet, selections } };
    }),
  };
  const operation = print(withoutUnusedVariables(kept as typeof document));
  if (node.kind !== "BatchFetch") return { ...node, operation };
  const aliases = node.entityBatch.aliases.filter(({ alias }) => names.has(alias));
  return { ...node, operation, entityBatch: { ...node.entityBatch, aliases } };
}

type Entities = Pick<EntityAlias, "alias" | "paths" | "requires" | "outputRewrites">;

function entitiesOf(node: AnyFetch, path: readonly PathSegment[]): readonly Entities[] | undefined {
  if (node.kind === "BatchFetch") return node.entityBatch.aliases;
  const { requires, outputRewrites = [] } = node;
  return requires && [{ alias: "_entities", paths: [path], requires, outputRewrites }];
}

function rootsOf(node: AnyFetch): readonly SelectionNode[] {
  const operation = readOperation(node).document.definitions.find(
    (definition) => definition.kind === Kind.OPERATION_DEFINITION,
  );
  return operation?.selectionSet.selections ?? [];
}

/** The response keys of the fields, also in inline fragments. */
function keysOf(selections: readonly SelectionNode[]): ReadonlySet<string> {
  const keys = new Set<string>();
  for (const selection of selections) {
    if (selection.kind === Kind.FIELD) keys.add(keyOf(selection));
    else if (selection.kind === Kind.INLINE_FRAGMENT)
      for (const key of keysOf(selection.selectionSet.selections)) keys.add(key);
  }
  return keys;
}

function selectionsAt(selections: readonly SelectionNode[], key: string): readonly SelectionNode[] {
  return selections.flatMap((selection) =>
    selection.kind === Kind.FIELD && keyOf(selection) === key
      ? (selection.selectionSet?.selections ?? [])
      : [],
  );
}

const TYPENAMES: SelectionSetNode = {
  kind: Kind.SELECTION_SET,
  selections: [{ kind: Kind.FIELD, name: { kind: Kind.NAME, value: TYPENAME } }],
};

/** Undefined when no field but `__typename` is left. */
function filterFields(set: SelectionSetNode, isKept: (key: string) => boolean): SelectionSetNode | undefined {
  const selections = set.selections.flatMap((selection): SelectionNode[] => {
    if (selection.kind === Kind.FIELD) return isKept(keyOf(selection)) ? [selection] : [];
    if (selection.kind !== Kind.INLINE_FRAGMENT) return [selection];
    const selectionSet = filterFields(selection.selectionSet, isKept);
    return selectionSet ? [{ ...selection, selectionSet }] : [];
  });
  const isLeft = selections.some((one) => one.kind !== Kind.FIELD || keyOf(one) !== TYPENAME);
  return isLeft ? { ...set, selections } : undefined;
}

function keyOf(field: Extract<SelectionNode, { kind: Kind.FIELD }>): string {
  return (field.alias ?? field.name).value;
}

function fieldsOf(path: readonly PathSegment[]): readonly string[] {
  return path.flatMap((segment) => (segment !== "@" && "Field" in segment ? [segment.Field] : []));
}

/** A part of a representation is read under its alias or under its name. */
function pathsOf(required: RequiredSelection): readonly (readonly string[])[] {
  if (required.kind === "FragmentSpread") return [];
  if (required.kind === "InlineFragment") return required.selections.flatMap(pathsOf);
  if (required.name === TYPENAME) return [];
  const names = required.alias === undefined ? [required.name] : [required.alias, required.name];
  const inner = (required.selections ?? []).flatMap(pathsOf);
  return names.flatMap((name) => (inner.length > 0 ? inner.map((path) => [name, ...path]) : [[name]]));
}
