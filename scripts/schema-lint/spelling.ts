import {
  type GraphQLNamedType,
  type GraphQLSchema,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isIntrospectionType,
  isObjectType,
  isSpecifiedScalarType,
} from "graphql";

/** A named element of the public schema. */
type Named = {
  readonly kind: "type" | "field" | "argument" | "value";
  readonly path: string;
  readonly name: string;
  readonly description?: string | null | undefined;
};

const SPELLINGS = {
  type: /^[A-Z][a-zA-Z0-9]*$/,
  field: /^[a-z][a-zA-Z0-9]*$/,
  argument: /^[a-z][a-zA-Z0-9]*$/,
  value: /^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$/,
} as const;

/** Names are spelt by their kind, and every element has a sentence that describes it. */
export function elementsAreSpeltAndDescribed(schema: GraphQLSchema): readonly string[] {
  const types = Object.values(schema.getTypeMap()).filter(
    (type) => !isIntrospectionType(type) && !isSpecifiedScalarType(type),
  );
  return types.flatMap((type) => {
    const self: Named = { kind: "type", path: type.name, name: type.name, description: type.description };
    return [...faultsOf(self), ...membersOf(type).flatMap(faultsOf)];
  });
}

/** The codes of failures are spelt as they are sent. */
const SENT_AS_SPELT = /^ErrorCode\.([a-z0-9_]+|[A-Z_]+)$/;

function faultsOf({ kind, path, name, description }: Named): readonly string[] {
  const faults: string[] = [];
  if (!SENT_AS_SPELT.test(path) && !SPELLINGS[kind].test(name))
    faults.push(`${path} does not follow the ${kind} naming rule`);
  if (!description?.trim().endsWith(".")) faults.push(`${path} has no description that ends with a period`);
  return faults;
}

function membersOf(type: GraphQLNamedType): readonly Named[] {
  const path = (name: string) => `${type.name}.${name}`;
  if (isEnumType(type))
    return type
      .getValues()
      .map(({ name, description }) => ({ kind: "value", path: path(name), name, description }));
  if (isInputObjectType(type))
    return Object.values(type.getFields()).map(({ name, description }) => {
      return { kind: "field", path: path(name), name, description };
    });
  if (!isObjectType(type) && !isInterfaceType(type)) return [];
  return Object.values(type.getFields()).flatMap(({ name, description, args }): readonly Named[] => [
    { kind: "field", path: path(name), name, description },
    ...args.map((arg) => ({
      kind: "argument" as const,
      path: `${path(name)}(${arg.name})`,
      name: arg.name,
      description: arg.description,
    })),
  ]);
}
