import {
  type DocumentNode,
  type FragmentDefinitionNode,
  type InlineFragmentNode,
  Kind,
  type SelectionSetNode,
  visit,
} from "graphql";

/** The fragments of a document, by name. */
export type Fragments = ReadonlyMap<string, FragmentDefinitionNode>;

/** Reads the fragment definitions of a document. */
export function readFragments(document: DocumentNode): Fragments {
  const definitions = document.definitions.filter(
    (definition) => definition.kind === Kind.FRAGMENT_DEFINITION,
  );
  return new Map(definitions.map((definition) => [definition.name.value, definition]));
}

/** The number of selections of a document with its fragments inlined. Fragments must not be cyclic. */
export function countWrittenOut(document: DocumentNode, fragments: Fragments): number {
  const known = new Map<string, number>();
  const countIn = (name: string): number => {
    const fragment = fragments.get(name);
    const count = known.get(name) ?? (fragment ? countSet(fragment.selectionSet) : 0);
    known.set(name, count);
    return count;
  };
  const countSet = (set: SelectionSetNode): number => {
    let count = 0;
    for (const selection of set.selections) {
      count += 1;
      if (selection.kind === Kind.FRAGMENT_SPREAD) count += countIn(selection.name.value);
      else if (selection.selectionSet) count += countSet(selection.selectionSet);
    }
    return count;
  };
  return document.definitions.reduce(
    (sum, definition) =>
      definition.kind === Kind.OPERATION_DEFINITION ? sum + countSet(definition.selectionSet) : sum,
    0,
  );
}

/** The document with every spread inlined, and without named fragments. Fragments must not be cyclic. */
export function writeOutFragments(document: DocumentNode, fragments: Fragments): DocumentNode {
  const definitions = document.definitions.filter(({ kind }) => kind !== Kind.FRAGMENT_DEFINITION);
  return visit(
    { ...document, definitions },
    {
      // The inlined fragment is visited next, including the spreads in it.
      FragmentSpread({ name, directives = [] }): InlineFragmentNode | undefined {
        const fragment = fragments.get(name.value);
        if (!fragment) return undefined;
        const { typeCondition, selectionSet } = fragment;
        return { kind: Kind.INLINE_FRAGMENT, typeCondition, directives, selectionSet };
      },
    },
  );
}
