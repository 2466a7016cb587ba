import {
  type GraphQLInputField,
  type GraphQLInputObjectType,
  type GraphQLInputType,
  type GraphQLNullableType,
  getNullableType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
} from "graphql";

/** A schema of JSON Schema 2020-12. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** The definitions to which `$ref`s of input objects refer, by type name. */
export type Definitions = Map<string, JsonSchema>;

/** JSON types of scalars; all others are sent as strings, except `JSON`, which is any value. */
const SCALARS: Readonly<Record<string, JsonSchema>> = {
  Int: { type: "integer" },
  Float: { type: "number" },
  Boolean: { type: "boolean" },
  String: { type: "string" },
  ID: { type: "string" },
  JSON: {},
};

/** The JSON Schema of values that the graph accepts for an input type. Input objects are added to `definitions`. */
export function toJsonSchema(type: GraphQLInputType, definitions: Definitions): JsonSchema {
  const schema = toNonNull(getNullableType(type), definitions);
  return isNonNullType(type) ? schema : { anyOf: [schema, { type: "null" }] };
}

function toNonNull(type: GraphQLNullableType & GraphQLInputType, definitions: Definitions): JsonSchema {
  if (isListType(type)) return { type: "array", items: toJsonSchema(type.ofType, definitions) };
  if (isEnumType(type)) return { type: "string", enum: type.getValues().map(({ name }) => name) };
  if (isInputObjectType(type)) return refer(type, definitions);
  const known = Object.hasOwn(SCALARS, type.name) ? SCALARS[type.name] : undefined;
  return known ?? described({ type: "string" }, type.description);
}

function refer(type: GraphQLInputObjectType, definitions: Definitions): JsonSchema {
  if (!definitions.has(type.name)) {
    // Before its fields, which may refer to it.
    definitions.set(type.name, {});
    const fields = Object.values(type.getFields());
    const members = fields.map((field) => [field.name, memberOf(field, definitions)] as const);
    const required = fields.filter((field) => isRequired(field)).map(({ name }) => name);
    const schema = {
      type: "object",
      properties: Object.fromEntries(members),
      ...(required.length > 0 && { required }),
      ...(type.isOneOf && { minProperties: 1, maxProperties: 1 }),
      additionalProperties: false,
    };
    definitions.set(type.name, described(schema, type.description));
  }
  return { $ref: `#/$defs/${type.name}` };
}

function memberOf({ type, description }: GraphQLInputField, definitions: Definitions): JsonSchema {
  return described(toJsonSchema(type, definitions), description);
}

function isRequired({ type, defaultValue }: GraphQLInputField): boolean {
  return isNonNullType(type) && defaultValue === undefined;
}

/** A schema with a description, unless there is none. */
export function described(schema: JsonSchema, description: string | null | undefined): JsonSchema {
  return description ? { ...schema, description } : schema;
}
