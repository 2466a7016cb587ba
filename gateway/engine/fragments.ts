import {
  type DocumentNode,
  type FragmentDefinitionNode,
  type InlineFragmentNode,
  Kind,
  visit,
} from "graphql";

/** The fragments of a document, by name. */
export type Fragments = ReadonlyMap<string, FragmentDefinitionNode>;

/** Reads the fragments that a document defines. */
export function readFragments(document: DocumentNode): Fragments {
  const definitions = document.definitions.filter(
    (definition) => definition.kind === Kind.FRAGMENT_DEFINITION,
  );
  return new Map(definitions.map((definition) => [definition.name.value, definition]));
}

/** The document with every spread written out, and without fragments of a name. They must not spread themselves. */
export function writeOutFragments(document: DocumentNode, fragments: Fragments): DocumentNode {
  const definitions = document.definitions.filter(({ kind }) => kind !== Kind.FRAGMENT_DEFINITION);
  return visit(
    { ...document, definitions },
    {
      // What is put in is visited in its turn, with the spreads in it.
      FragmentSpread({ name, directives = [] }): InlineFragmentNode | undefined {
        const fragment = fragments.get(name.value);
        if (!fragment) return undefined;
        const { typeCondition, selectionSet } = fragment;
        return { kind: Kind.INLINE_FRAGMENT, typeCondition, directives, selectionSet };
      },
    },
  );
}
