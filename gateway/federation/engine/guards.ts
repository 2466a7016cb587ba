import { type DocumentNode, type FieldNode, type GraphQLSchema, getNamedType, Kind, visit } from "graphql";
import { oncePer } from "../../../src/kernel/once-per.ts";
import { visitSelections } from "./document/typed-selections.ts";

/** Why a caller is denied a field. */
export type Denial = { readonly code: string; readonly message: string };

/** The guard of a field. */
export type Guard<C> = {
  /** Identifies the guard, for logs and caches. */
  readonly id: string;
  /** Why the guard denies access; undefined when it allows it. */
  refuse(context: C): Denial | undefined;
};

/** The guard of a field by its parent type, name and return type; undefined when the field is open to all. */
export type GuardOf<C> = (parent: string, field: string, type: string) => Guard<C> | undefined;

/** The guarded fields of a document. */
export type GuardedFields<C> = readonly { readonly node: FieldNode; readonly guard: Guard<C> }[];

/** The fields that a caller is denied, by their nodes in the document. */
export type Denied = ReadonlyMap<FieldNode, Denial>;

/** Finds the guarded fields of a document, which must be valid against `schema`. */
export function findGuardedFields<C>(
  schema: GraphQLSchema,
  document: DocumentNode,
  guardOf: GuardOf<C>,
): GuardedFields<C> {
  const found: { node: FieldNode; guard: Guard<C> }[] = [];
  for (const definition of document.definitions)
    visitSelections(schema, definition, (node, parent, field) => {
      if (node.kind !== Kind.FIELD || !field) return;
      const guard = guardOf(parent.name, field.name, getNamedType(field.type).name);
      if (guard) found.push({ node, guard });
    });
  return found;
}

/** Evaluates every guard once. `key` is equal for callers that are denied the same fields for the same reasons. */
export function denialsOf<C>(
  fields: GuardedFields<C>,
  context: C,
): { readonly denied: Denied; readonly key: string } {
  const denied = new Map<FieldNode, Denial>();
  const verdicts = new Map<Guard<C>, Denial | undefined>();
  let key = "";
  for (const { node, guard } of fields) {
    if (!verdicts.has(guard)) {
      const denial = guard.refuse(context);
      verdicts.set(guard, denial);
      if (denial) key += ` !${guard.id}:${denial.code}:${denial.message}`;
    }
    const denial = verdicts.get(guard);
    if (denial) denied.set(node, denial);
  }
  return { denied, key };
}

const TYPENAME: FieldNode = { kind: Kind.FIELD, name: { kind: Kind.NAME, value: "__typename" } };

/** The document without denied fields, for planning. A selection set that becomes empty gets `__typename`. */
export function withoutDenied(document: DocumentNode, denied: Denied): DocumentNode {
  if (denied.size === 0) return document;
  return visit(document, {
    Field: { enter: (node) => (denied.has(node) ? null : undefined) },
    SelectionSet: {
      leave: (set) => (set.selections.length === 0 ? { ...set, selections: [TYPENAME] } : undefined),
    },
  });
}

/** Finds the guarded fields of a document once per document. */
export function createGuardedFields<C>(
  api: GraphQLSchema,
  guardOf: GuardOf<C> | undefined,
): (document: DocumentNode) => GuardedFields<C> {
  if (!guardOf) return () => [];
  return oncePer((document) => findGuardedFields(api, document, guardOf));
}
