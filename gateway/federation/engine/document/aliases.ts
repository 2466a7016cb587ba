import { type DocumentNode, type FieldNode, Kind, visit } from "graphql";

/** Stands before every alias of a client on its way to the planner. No field of ours begins with it. */
const PREFIX = "_alias_";

/**
 * The key that a field has in the data: between the planner, the subgraphs and the engine a client's alias is
 * another word. Else it could take the place of a field that joins need, as `id: name` does in
 * `{ account { id: name balance } }`: the planner does not keep the two apart.
 */
export function dataKey({ alias, name }: FieldNode): string {
  return alias && alias.value !== name.value ? PREFIX + alias.value : name.value;
}

/** The key that the client knows, of a key in the data. */
export function clientKey(key: string): string {
  return key.startsWith(PREFIX) ? key.slice(PREFIX.length) : key;
}

/**
 * The document as the planner gets it. `__typename` loses its alias: the engine needs it under its own name, and
 * writes it under the client's.
 */
export function renameAliases(document: DocumentNode): DocumentNode {
  return visit(document, {
    Field(field) {
      if (!field.alias) return undefined;
      const { alias: _, ...plain } = field;
      if (field.name.value === "__typename") return plain;
      return { ...plain, alias: { kind: Kind.NAME, value: dataKey(field) } };
    },
  });
}
