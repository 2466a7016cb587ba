import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type FragmentSpreadNode,
  type InlineFragmentNode,
  Kind,
  parse,
  type SelectionSetNode,
  visit,
} from "graphql";

type Path = readonly (string | number)[];

/** An object of the result that a fragment with `@defer` is on. */
export type DeferredData = {
  readonly label: string;
  readonly path: Path;
  readonly data: Readonly<Record<string, unknown>>;
};

/** Data at its path: of the operation, or of the fragment or list with this label. */
export type LabelledData = { readonly data: unknown; readonly path: Path; readonly label?: string };
/** Whether a fragment at a path is delivered later. */
type IsPending = (label: string, path: Path) => boolean;

/**
 * A function that finds the fragments with `@defer` that some data includes, the outer ones first: those which are not
 * delivered later. Whether a fragment's type is that of the object is not looked at.
 */
export function includedFragments(
  query: string,
): (data: LabelledData, isPending: IsPending) => Iterable<DeferredData> {
  if (!/@(?:defer|stream)\b/.test(query)) return () => [];
  const document = parse(query, { noLocation: true });
  const fragments = fragmentsOf(document);
  const selections = labelledSelections(document);
  return ({ data, path, label = "" }, isPending) =>
    find({ fragments, isPending }, selections.get(label), data, path);
}

type Search = {
  readonly fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  readonly isPending: IsPending;
};

function* find(
  search: Search,
  selections: SelectionSetNode | undefined,
  data: unknown,
  path: Path,
): Generator<DeferredData, void, undefined> {
  if (Array.isArray(data)) {
    for (const [n, item] of data.entries()) yield* find(search, selections, item, [...path, n]);
    return;
  }
  if (!isObject(data)) return;
  for (const selection of selections?.selections ?? []) {
    if (selection.kind === Kind.FIELD) {
      const key = selection.alias?.value ?? selection.name.value;
      if (selection.selectionSet) yield* find(search, selection.selectionSet, data[key], [...path, key]);
      continue;
    }
    const label = labelOf(selection, "defer");
    if (label !== undefined) {
      if (search.isPending(label, path)) continue;
      yield { label, path, data };
    }
    yield* find(search, selectionsOf(selection, search.fragments), data, path);
  }
}

/** The selections of each fragment with `@defer` and list with `@stream` by label, and with "" of the operation. */
function labelledSelections(document: DocumentNode): ReadonlyMap<string, SelectionSetNode | undefined> {
  const fragments = fragmentsOf(document);
  const found = new Map<string, SelectionSetNode | undefined>();
  const add = (node: FragmentSpreadNode | InlineFragmentNode) => {
    const label = labelOf(node, "defer");
    if (label !== undefined) found.set(label, selectionsOf(node, fragments));
  };
  visit(document, {
    OperationDefinition: ({ selectionSet }) => void found.set("", selectionSet),
    FragmentSpread: add,
    InlineFragment: add,
    Field(node) {
      const label = labelOf(node, "stream");
      if (label !== undefined) found.set(label, node.selectionSet);
    },
  });
  return found;
}

function fragmentsOf({ definitions }: DocumentNode): ReadonlyMap<string, FragmentDefinitionNode> {
  const fragments = definitions.filter((definition) => definition.kind === Kind.FRAGMENT_DEFINITION);
  return new Map(fragments.map((fragment) => [fragment.name.value, fragment]));
}

function selectionsOf(
  node: FragmentSpreadNode | InlineFragmentNode,
  fragments: ReadonlyMap<string, FragmentDefinitionNode>,
): SelectionSetNode | undefined {
  return node.kind === Kind.FRAGMENT_SPREAD
    ? fragments.get(node.name.value)?.selectionSet
    : node.selectionSet;
}

/** The label of a directive, which relay-compiler always writes. */
function labelOf(
  { directives = [] }: FieldNode | FragmentSpreadNode | InlineFragmentNode,
  name: "defer" | "stream",
): string | undefined {
  const directive = directives.find((one) => one.name.value === name);
  const value = directive?.arguments?.find((argument) => argument.name.value === "label")?.value;
  return value?.kind === Kind.STRING ? value.value : undefined;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
