import {
  type DocumentNode,
  type FieldNode,
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLOutputType,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  isInputObjectType,
  isInterfaceType,
  isLeafType,
  isListType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
  type SelectionSetNode,
  valueFromASTUntyped,
} from "graphql";
import { requestsOf } from "../../../subgraphs/shared/schema/root-requests.ts";
import { type Fragments, readFragments } from "../engine/document/fragments.ts";
import type { DirectiveUses } from "./schema-directives.ts";

type Variables = Readonly<Record<string, unknown>>;

/** The cost of an operation with these variables and defaults, before it runs. */
export type Cost = (variables: Variables) => number;

/** The prices: `@cost` and `@listSize` of the supergraph, and the assumed length of a list without a size. */
export type Prices = {
  readonly cost: DirectiveUses;
  readonly listSize: DirectiveUses;
  readonly defaultListSize: number;
};

/** Lists with an item for each of an argument's. Composition accepts only numbers as slicing arguments. */
const SIZED_BY_LIST: ReadonlyMap<string, string> = new Map([["Query.nodes", "ids"]]);
const MUTATION_COST = 10;
const OBJECT_COST = 1;

/**
 * Compiles the static cost of an operation by the public specification of demand control: an object costs 1 and a
 * leaf 0 unless `@cost` sets another weight, a list costs its length times one of its items, and every mutation
 * field costs 10 more. Fragments on several types in one place are all counted. The document must be valid.
 */
export function compileCost(
  schema: GraphQLSchema,
  prices: Prices,
  document: DocumentNode,
  operation: OperationDefinitionNode,
): Cost {
  const root = schema.getRootType(operation.operation);
  if (!root) return () => 0;
  const compiler = new Compiler(schema, prices, readFragments(document));
  const cost = compiler.compileSet(operation.selectionSet, root, undefined);
  const isMutation = operation.operation === OperationTypeNode.MUTATION;
  const fixed = isMutation ? MUTATION_COST * requestsOf(document, operation) : 0;
  return (variables) => fixed + cost(variables);
}

/**
 * The size of the lists inside an object, if the field that returns the object declares it (a connection's `nodes`).
 */
type Sized = { readonly fields: ReadonlySet<string>; readonly size: Cost };

class Compiler {
  readonly #schema: GraphQLSchema;
  readonly #prices: Prices;
  readonly #fragments: Fragments;
  /** The weights of arguments, by their value. */
  readonly #weighed = new WeakMap<object, { readonly type: GraphQLNamedType; readonly weight: number }>();

  constructor(schema: GraphQLSchema, prices: Prices, fragments: Fragments) {
    this.#schema = schema;
    this.#prices = prices;
    this.#fragments = fragments;
  }

  compileSet(set: SelectionSetNode, type: GraphQLNamedType, sized: Sized | undefined): Cost {
    const costs = set.selections.map((selection): Cost => {
      if (selection.kind === Kind.FIELD) return this.#compileField(selection, type, sized);
      const fragment =
        selection.kind === Kind.INLINE_FRAGMENT ? selection : this.#fragments.get(selection.name.value);
      if (!fragment) return FREE;
      const narrowed = fragment.typeCondition && this.#schema.getType(fragment.typeCondition.name.value);
      return this.compileSet(fragment.selectionSet, narrowed ?? type, sized);
    });
    return sum(costs.filter((cost) => cost !== FREE));
  }

  #compileField(node: FieldNode, parent: GraphQLNamedType, sized: Sized | undefined): Cost {
    const name = node.name.value;
    if (name.startsWith("__") || !(isObjectType(parent) || isInterfaceType(parent))) return FREE;
    const field = parent.getFields()[name];
    if (!field) return FREE;
    const coordinate = `${parent.name}.${name}`;
    const type = getNamedType(field.type);
    const weight =
      this.#weightOf(coordinate) ?? this.#weightOf(type.name) ?? (isLeafType(type) ? 0 : OBJECT_COST);
    const listed = this.#listSize(coordinate, field, node);
    const inside = listed?.fields.size ? listed : undefined;
    const children = node.selectionSet ? this.compileSet(node.selectionSet, type, inside) : FREE;
    const size = sized?.fields.has(name) ? sized.size : listed?.size;
    const item = weight === 0 ? children : sum([() => weight, children]);
    const args = this.#compileArguments(coordinate, field, node);
    return sum([args, times(lengthOf(field.type, inside ? undefined : size, this.#prices), item)]);
  }

  #weightOf(coordinate: string): number | undefined {
    const weight = this.#prices.cost.get(coordinate)?.weight;
    return weight === undefined ? undefined : Number(weight);
  }

  #listSize(coordinate: string, field: GraphQLField<unknown, unknown>, node: FieldNode): Sized | undefined {
    const use = this.#prices.listSize.get(coordinate);
    if (!use) return undefined;
    const list = SIZED_BY_LIST.get(coordinate);
    const paths = [...textsOf(use.slicingArguments), ...(list ? [list] : [])];
    const slicing = paths.map((path) => compileSlice(path.split("."), field.args, node));
    const assumed = typeof use.assumedSize === "number" ? use.assumedSize : this.#prices.defaultListSize;
    const size: Cost = (variables) => {
      const given = slicing.map((slice) => slice(variables)).filter((value) => value !== undefined);
      return given.length > 0 ? Math.max(...given) : assumed;
    };
    return { fields: new Set(textsOf(use.sizedFields)), size };
  }

  /** Only arguments with `@cost`: others are free, and so are fields of input objects. */
  #compileArguments(coordinate: string, field: GraphQLField<unknown, unknown>, node: FieldNode): Cost {
    const costs = field.args.flatMap((argument): Cost[] => {
      const given = node.arguments?.find(({ name }) => name.value === argument.name)?.value;
      if (!given) return [];
      const weight = this.#weightOf(`${coordinate}(${argument.name})`) ?? 0;
      const type = getNamedType(argument.type);
      if (!isInputObjectType(type)) return weight === 0 ? [] : [() => weight];
      return [(variables) => weight + this.#weighArgument(type, valueFromASTUntyped(given, variables))];
    });
    return sum(costs);
  }

  /** Weighs a variable once, however many fields have it as an argument. */
  #weighArgument(type: GraphQLNamedType, value: unknown): number {
    if (typeof value !== "object" || value === null) return this.#weighInput(type, value);
    const known = this.#weighed.get(value);
    if (known?.type === type) return known.weight;
    const weight = this.#weighInput(type, value);
    this.#weighed.set(value, { type, weight });
    return weight;
  }

  #weighInput(type: GraphQLNamedType, value: unknown): number {
    if (Array.isArray(value)) return value.reduce<number>((all, one) => all + this.#weighInput(type, one), 0);
    if (!isInputObjectType(type) || typeof value !== "object" || value === null) return 0;
    return Object.entries(value).reduce((all, [name, inner]) => {
      const field = type.getFields()[name];
      if (!field) return all;
      const weight = this.#weightOf(`${type.name}.${name}`) ?? 0;
      return all + weight + this.#weighInput(getNamedType(field.type), inner);
    }, 0);
  }
}

const FREE: Cost = () => 0;

function sum(costs: readonly Cost[]): Cost {
  const paid = costs.filter((cost) => cost !== FREE);
  const [only, second] = paid;
  if (!only) return FREE;
  if (!second) return only;
  return (variables) => {
    let total = 0;
    for (const cost of paid) total += cost(variables);
    return total;
  };
}

function times(size: Cost | undefined, cost: Cost): Cost {
  if (!size || cost === FREE) return cost;
  return (variables) => size(variables) * cost(variables);
}

/** The length of a list, the product of all its levels; undefined for a type that is not a list. */
function lengthOf(
  type: GraphQLOutputType,
  declared: Cost | undefined,
  { defaultListSize }: Prices,
): Cost | undefined {
  const nullable = getNullableType(type);
  if (!isListType(nullable)) return undefined;
  const inner = lengthOf(nullable.ofType, undefined, { defaultListSize } as Prices);
  const own = declared ?? (() => defaultListSize);
  return inner ? (variables) => own(variables) * inner(variables) : own;
}

/** The value of a slicing argument: literal, variable or default; of a list, its length. Undefined for all else. */
function compileSlice(
  [first = "", ...rest]: readonly string[],
  args: readonly GraphQLArgument[],
  node: FieldNode,
): (variables: Variables) => number | undefined {
  const given = node.arguments?.find(({ name }) => name.value === first)?.value;
  const byDefault: unknown = args.find(({ name }) => name === first)?.defaultValue;
  return (variables) => {
    const value: unknown = given && valueFromASTUntyped(given, variables);
    const number = rest.reduce<unknown>(
      (one, key) => Object(one)[key],
      value === undefined ? byDefault : value,
    );
    if (Array.isArray(number)) return number.length;
    return typeof number === "number" && Number.isFinite(number) ? Math.max(0, number) : undefined;
  };
}

function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(String) : [];
}
