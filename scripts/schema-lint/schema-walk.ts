import {
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLSchema,
  isInterfaceType,
  isIntrospectionType,
  isObjectType,
} from "graphql";

/** A field with its coordinate. */
export type LocatedField = GraphQLField<unknown, unknown> & { readonly path: string };

/** The object types of a public schema, without the root types. */
export function objectTypesOf(schema: GraphQLSchema): readonly GraphQLObjectType[] {
  const roots = new Set<unknown>([
    schema.getQueryType(),
    schema.getMutationType(),
    schema.getSubscriptionType(),
  ]);
  return Object.values(schema.getTypeMap())
    .filter(isObjectType)
    .filter((type) => !isIntrospectionType(type) && !roots.has(type));
}

/** The fields of every object type and interface, root types included. */
export function fieldsOf(schema: GraphQLSchema): readonly LocatedField[] {
  return Object.values(schema.getTypeMap())
    .filter((type) => isObjectType(type) || isInterfaceType(type))
    .filter((type) => !isIntrospectionType(type))
    .flatMap((type) =>
      Object.values(type.getFields()).map((field) => ({ ...field, path: `${type.name}.${field.name}` })),
    );
}

/** The fields of a root type. */
export function rootFieldsOf(
  schema: GraphQLSchema,
  operation: "query" | "mutation" | "subscription",
): readonly GraphQLField<unknown, unknown>[] {
  const roots = {
    query: schema.getQueryType(),
    mutation: schema.getMutationType(),
    subscription: schema.getSubscriptionType(),
  };
  return Object.values(roots[operation]?.getFields() ?? {});
}
