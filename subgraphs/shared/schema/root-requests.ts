import {
  type DocumentNode,
  type FragmentDefinitionNode,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
  type SelectionSetNode,
} from "graphql";

/**
 * How many requests an operation counts as against a rate limit. Everything that changes state or spends money is a
 * field of `Mutation` or the one field of a subscription, and would be a request of its own over REST: a mutation
 * counts once per root field, under every alias; a query and a subscription count once. `@skip` and `@include` are
 * ignored. The fragments of the document must not spread themselves.
 */
export function requestsOf(document: DocumentNode, operation: OperationDefinitionNode): number {
  if (operation.operation !== OperationTypeNode.MUTATION) return 1;
  const keys = rootFields(document, operation);
  return Math.max(1, [...keys.values()].filter((name) => !name.startsWith("__")).length);
}

/** The names of an operation's root fields, by response key. */
export function rootFields(
  { definitions }: DocumentNode,
  { selectionSet }: OperationDefinitionNode,
): ReadonlyMap<string, string> {
  const fragments = new Map<string, FragmentDefinitionNode>();
  for (const definition of definitions)
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments.set(definition.name.value, definition);
  const keys = new Map<string, string>();
  const seen = new Set<SelectionSetNode>();
  const collect = (set: SelectionSetNode | undefined): void => {
    if (!set || seen.has(set)) return;
    seen.add(set);
    for (const selection of set.selections) {
      if (selection.kind === Kind.FIELD)
        keys.set((selection.alias ?? selection.name).value, selection.name.value);
      else if (selection.kind === Kind.INLINE_FRAGMENT) collect(selection.selectionSet);
      else collect(fragments.get(selection.name.value)?.selectionSet);
    }
  };
  collect(selectionSet);
  return keys;
}
