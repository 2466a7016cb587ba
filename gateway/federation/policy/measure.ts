import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  Kind,
  type OperationDefinitionNode,
  type SelectionNode,
  type SelectionSetNode,
} from "graphql";

/** The size of an operation with its fragments inlined. Each value may be Infinity: fragments multiply. */
export type Measures = {
  readonly depth: number;
  readonly introspectionDepth: number;
  readonly aliases: number;
  readonly rootFields: number;
  readonly directives: number;
  readonly fields: number;
  readonly repeats: number;
  /** Variables that an operation declares. */
  readonly variables: number;
  /** Fragments that spread themselves. */
  readonly cycles: number;
};

/**
 * Measures every operation of a document and returns the maximum of each measure. It needs no schema and visits
 * every node once, so it runs before validation, which takes quadratic time for some documents refused here.
 */
export function measureDocument(document: DocumentNode): Measures {
  const fragments = new Map<string, FragmentDefinitionNode>();
  const operations: OperationDefinitionNode[] = [];
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments.set(definition.name.value, definition);
    if (definition.kind === Kind.OPERATION_DEFINITION) operations.push(definition);
  }
  const measurer = new Measurer(fragments);
  const sizes = operations.map((operation) => measurer.measure(operation));
  return [...sizes, measurer.measureUnused()].reduce(most, NOTHING);
}

const NOTHING: Measures = {
  depth: 0,
  introspectionDepth: 0,
  aliases: 0,
  rootFields: 0,
  directives: 0,
  fields: 0,
  repeats: 0,
  variables: 0,
  cycles: 0,
};

function most(one: Measures, other: Measures): Measures {
  const names = Object.keys(one) as (keyof Measures)[];
  return Object.fromEntries(names.map((name) => [name, Math.max(one[name], other[name])])) as Measures;
}

/** The size of a selection set. `own` counts its direct fields. */
type Size = {
  depth: number;
  introspectionDepth: number;
  own: number;
  fields: number;
  aliases: number;
  directives: number;
  repeats: number;
};

class Measurer {
  readonly #fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  readonly #known = new Map<string, Size>();
  readonly #begun = new Set<string>();
  #cycles = 0;

  constructor(fragments: ReadonlyMap<string, FragmentDefinitionNode>) {
    this.#fragments = fragments;
  }

  measure({ selectionSet, directives = [], variableDefinitions = [] }: OperationDefinitionNode): Measures {
    const { own, ...size } = this.#sizeOf(selectionSet);
    const spent = size.directives + directives.length;
    const variables = variableDefinitions.length;
    return { ...size, rootFields: own, directives: spent, variables, cycles: this.#cycles };
  }

  /** Unused fragments are refused anyway; only whether they spread themselves matters here. */
  measureUnused(): Measures {
    for (const name of this.#fragments.keys()) this.#fragment(name);
    return { ...NOTHING, cycles: this.#cycles };
  }

  #sizeOf(set: SelectionSetNode): Size {
    const size = newSize();
    this.#add(set, size, new Map());
    return size;
  }

  #add(set: SelectionSetNode, size: Size, keys: Map<string, number>): void {
    for (const selection of set.selections) {
      size.directives += selection.directives?.length ?? 0;
      this.#addSelection(selection, size, keys);
    }
  }

  #addSelection(selection: SelectionNode, size: Size, keys: Map<string, number>): void {
    if (selection.kind === Kind.FIELD) this.#addField(selection, size, keys);
    else if (selection.kind === Kind.INLINE_FRAGMENT) this.#add(selection.selectionSet, size, keys);
    else addSize(size, this.#fragment(selection.name.value));
  }

  #addField(field: FieldNode, size: Size, keys: Map<string, number>): void {
    const key = (field.alias ?? field.name).value;
    const seen = (keys.get(key) ?? 0) + 1;
    keys.set(key, seen);
    const inner = field.selectionSet ? this.#sizeOf(field.selectionSet) : newSize();
    const isIntrospection = field.name.value === "__schema" || field.name.value === "__type";
    size.own += 1;
    size.fields += 1 + inner.fields;
    size.aliases += (field.alias ? 1 : 0) + inner.aliases;
    size.directives += inner.directives;
    size.repeats = Math.max(size.repeats, seen, inner.repeats);
    if (isIntrospection) size.introspectionDepth = Math.max(size.introspectionDepth, 1 + inner.depth);
    else size.depth = Math.max(size.depth, 1 + inner.depth);
    size.introspectionDepth = Math.max(size.introspectionDepth, inner.introspectionDepth);
  }

  #fragment(name: string): Size {
    const known = this.#known.get(name);
    if (known) return known;
    if (this.#begun.has(name)) {
      this.#cycles += 1;
      return newSize();
    }
    this.#begun.add(name);
    const fragment = this.#fragments.get(name);
    const size = fragment ? this.#sizeOf(fragment.selectionSet) : newSize();
    this.#known.set(name, size);
    return size;
  }
}

function newSize(): Size {
  return { depth: 0, introspectionDepth: 0, own: 0, fields: 0, aliases: 0, directives: 0, repeats: 0 };
}

function addSize(size: Size, more: Size): void {
  size.depth = Math.max(size.depth, more.depth);
  size.introspectionDepth = Math.max(size.introspectionDepth, more.introspectionDepth);
  size.repeats = Math.max(size.repeats, more.repeats);
  size.own += more.own;
  size.fields += more.fields;
  size.aliases += more.aliases;
  size.directives += more.directives;
}
