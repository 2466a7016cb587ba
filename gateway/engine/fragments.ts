import { type DocumentNode, type FragmentDefinitionNode, Kind } from "graphql";

/** The fragments of a document, by name. */
export type Fragments = ReadonlyMap<string, FragmentDefinitionNode>;

/** Reads the fragments that a document defines. */
export function readFragments(document: DocumentNode): Fragments {
  const definitions = document.definitions.filter(
    (definition) => definition.kind === Kind.FRAGMENT_DEFINITION,
  );
  return new Map(definitions.map((definition) => [definition.name.value, definition]));
}
