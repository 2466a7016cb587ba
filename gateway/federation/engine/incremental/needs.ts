import {
  type GraphQLNamedType,
  type GraphQLSchema,
  getNamedType,
  type InlineFragmentNode,
  isInterfaceType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from "graphql";
import { dataKey } from "../document/aliases.ts";
import type { Denied } from "../guards.ts";
import { isIncremental } from "./directives.ts";

/** A tree of keys in the data, whatever the types of the objects and without list indexes. */
export type Paths = Map<string, Paths>;

/** The data that a deferred fragment delivers, and the fragment around it; undefined stands for the result. */
export type Need = { readonly outer: InlineFragmentNode | undefined; readonly paths: Paths };

/** Adds a path to a tree. */
export function addPath(paths: Paths, path: readonly string[]): void {
  let at = paths;
  for (const key of path) {
    const next: Paths = at.get(key) ?? new Map();
    at.set(key, next);
    at = next;
  }
}

/** Whether a tree contains a path or one below it. */
export function hasPath(paths: Paths, path: readonly string[]): boolean {
  let at: Paths | undefined = paths;
  for (const key of path) at = at?.get(key);
  return at !== undefined;
}

/** What needs depend on besides the operation. */
type Reading = {
  readonly schema: GraphQLSchema;
  readonly denied: Denied;
  /** The types that must be resolved before an object can be completed (`interfaceObjectTypes`). */
  readonly untyped: ReadonlySet<string>;
};

/** The data that the result and each of its deferred fragments deliver. The operation must be expanded. */
export function readNeeds(
  { operation, selectionSet }: OperationDefinitionNode,
  { schema, denied, untyped }: Reading,
): ReadonlyMap<InlineFragmentNode | undefined, Need> {
  const needs = new Map<InlineFragmentNode | undefined, Need>();
  const open = (fragment: InlineFragmentNode | undefined, outer: InlineFragmentNode | undefined) => {
    const need: Need = { outer, paths: new Map() };
    needs.set(fragment, need);
    return need.paths;
  };
  const read = (
    set: SelectionSetNode,
    within: { readonly fragment: InlineFragmentNode | undefined; readonly paths: Paths },
    { place, type }: { readonly place: readonly string[]; readonly type: GraphQLNamedType | undefined },
  ) => {
    addPath(within.paths, place);
    if (type && untyped.has(type.name)) addPath(within.paths, [...place, "__typename"]);
    for (const selection of set.selections) {
      if (selection.kind === Kind.INLINE_FRAGMENT) {
        const isDeferred = selection.directives?.some(isIncremental);
        const inside = isDeferred ? { fragment: selection, paths: open(selection, within.fragment) } : within;
        const condition = selection.typeCondition?.name.value;
        read(selection.selectionSet, inside, {
          place,
          type: condition === undefined ? type : schema.getType(condition),
        });
      } else if (selection.kind === Kind.FIELD && !denied.has(selection)) {
        if (selection.name.value.startsWith("__")) continue;
        const path = [...place, dataKey(selection)];
        addPath(within.paths, path);
        if (!selection.selectionSet || !(isObjectType(type) || isInterfaceType(type))) continue;
        const field = type.getFields()[selection.name.value];
        if (!field) continue;
        read(selection.selectionSet, within, { place: path, type: getNamedType(field.type) });
      }
    }
  };
  const root = schema.getRootType(operation) ?? undefined;
  read(selectionSet, { fragment: undefined, paths: open(undefined, undefined) }, { place: [], type: root });
  return needs;
}
