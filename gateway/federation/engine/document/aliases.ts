import { type DocumentNode, type FieldNode, Kind, visit } from "graphql";
import { CHILDREN, contentsOf } from "./contents.ts";

/** Prefix of every client alias in the planner's document. No field of ours starts with it. */
const PREFIX = "_alias_";

/**
 * The key of a field in the data. Between the planner, the subgraphs and the engine, client aliases are prefixed.
 * Otherwise an alias could replace a field that joins need, as `id: name` does in `{ account { id: name balance }
 * }`: the planner does not distinguish the two.
 */
export function dataKey({ alias, name }: FieldNode): string {
  return alias && alias.value !== name.value ? PREFIX + alias.value : name.value;
}

/** The key in the data of what the schema itself answers, by the client's response key: no other key begins so. */
export function introspectionKey(key: string): string {
  return `_introspection_${key}`;
}

/** The client's response key for a key in the data. */
export function clientKey(key: string): string {
  return key.startsWith(PREFIX) ? key.slice(PREFIX.length) : key;
}

/**
 * The document for the planner. `__typename` loses its alias: the engine needs it under its own name, and writes it
 * under the client's.
 */
export function renameAliases(document: DocumentNode): DocumentNode {
  if (!contentsOf(document).hasAliases) return document;
  const rename = (field: FieldNode): FieldNode | undefined => {
    if (!field.alias) return undefined;
    const { alias: _, ...plain } = field;
    if (field.name.value === "__typename") return plain;
    return { ...plain, alias: { kind: Kind.NAME, value: dataKey(field) } };
  };
  return visit(document, { Field: rename }, CHILDREN);
}
