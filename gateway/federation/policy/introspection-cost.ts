import {
  type DocumentNode,
  type FragmentDefinitionNode,
  type GraphQLSchema,
  getIntrospectionQuery,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  parse,
  type SelectionSetNode,
} from "graphql";

/** Tools request slightly more or less than the standard query of graphql-js. */
const ALLOWANCE = 1.5;

/**
 * Creates the check of introspection cost: nested lists multiply, and aliases multiply again, so that a short query
 * may take seconds to answer. An operation may cost one and a half times the standard query of tools; the function
 * returns true for one that costs more.
 */
export function createIntrospectionCheck(
  schema: GraphQLSchema,
): (document: DocumentNode, operation: OperationDefinitionNode) => boolean {
  const lengths = usualLengths(schema);
  const usual = parse(
    getIntrospectionQuery({ inputValueDeprecation: true, schemaDescription: true, specifiedByUrl: true }),
    { noLocation: true },
  );
  const [operation] = usual.definitions.filter((part) => part.kind === Kind.OPERATION_DEFINITION);
  const most = operation ? ALLOWANCE * costOf(usual, operation, lengths) : 0;
  return (document, operation) => costOf(document, operation, lengths) > most;
}

/** The usual length of each introspection list, in this schema. */
function usualLengths(schema: GraphQLSchema): ReadonlyMap<string, number> {
  const types = Object.values(schema.getTypeMap());
  const composites = types.filter((type) => isObjectType(type) || isInterfaceType(type));
  const fields = composites.flatMap((type) => Object.values(type.getFields()));
  const average = (sum: number, of: number) => Math.max(1, sum / Math.max(1, of));
  const sumOf = (counts: readonly number[]) => counts.reduce((sum, count) => sum + count, 0);
  const inputs = types.filter(isInputObjectType).map((type) => Object.keys(type.getFields()).length);
  const values = types.filter(isEnumType).map((type) => type.getValues().length);
  return new Map([
    ["types", types.length],
    ["fields", average(fields.length, types.length)],
    ["args", average(sumOf(fields.map(({ args }) => args.length)), fields.length)],
    ["inputFields", average(sumOf(inputs), types.length)],
    ["enumValues", average(sumOf(values), types.length)],
    ["directives", schema.getDirectives().length],
  ]);
}

/** The cost of the fields `__schema` and `__type` of an operation, in values of the response. */
function costOf(
  document: DocumentNode,
  { selectionSet }: OperationDefinitionNode,
  lengths: ReadonlyMap<string, number>,
): number {
  const fragments = new Map<string, FragmentDefinitionNode>();
  for (const part of document.definitions)
    if (part.kind === Kind.FRAGMENT_DEFINITION) fragments.set(part.name.value, part);
  const known = new Map<string, number>();
  const cost = (set: SelectionSetNode, isInside: boolean): number =>
    set.selections.reduce((sum, selection) => {
      if (selection.kind === Kind.INLINE_FRAGMENT) return sum + cost(selection.selectionSet, isInside);
      if (selection.kind === Kind.FRAGMENT_SPREAD) return sum + costOfSpread(selection.name.value, isInside);
      const name = selection.name.value;
      const counts = isInside || name === "__schema" || name === "__type";
      if (!counts) return sum;
      const within = selection.selectionSet ? cost(selection.selectionSet, true) : 0;
      return sum + (lengths.get(name) ?? 1) * (1 + within);
    }, 0);
  const costOfSpread = (name: string, isInside: boolean): number => {
    const key = `${isInside} ${name}`;
    const fragment = fragments.get(name);
    const found = known.get(key) ?? (fragment ? cost(fragment.selectionSet, isInside) : 0);
    known.set(key, found);
    return found;
  };
  return cost(selectionSet, false);
}
