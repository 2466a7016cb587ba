import {
  type GraphQLArgument,
  type GraphQLInputField,
  type GraphQLSchema,
  isInputObjectType,
  isObjectType,
} from "graphql";

type Defaulted = Pick<GraphQLArgument | GraphQLInputField, "name" | "defaultValue">;

/**
 * Copies the default values of `original` to `schema`, which was parsed from the SDL of `original`. A default in SDL is
 * parsed before the values of its enum are known, and would reach resolvers as the enum's name.
 */
export function keepDefaults(schema: GraphQLSchema, original: GraphQLSchema): GraphQLSchema {
  for (const type of Object.values(original.getTypeMap())) {
    const copy = schema.getType(type.name);
    if (isInputObjectType(type) && isInputObjectType(copy))
      keepAll(Object.values(copy.getFields()), Object.values(type.getFields()));
    if (!isObjectType(type) || !isObjectType(copy)) continue;
    const fields = copy.getFields();
    for (const { name, args } of Object.values(type.getFields())) keepAll(fields[name]?.args ?? [], args);
  }
  return schema;
}

function keepAll(copies: readonly Defaulted[], originals: readonly Defaulted[]): void {
  for (const { name, defaultValue } of originals) {
    const copy = copies.find((candidate) => candidate.name === name);
    if (copy && defaultValue !== undefined) copy.defaultValue = defaultValue;
  }
}
