import { type GraphQLSchema, getNamedType, getNullableType, isListType, isNonNullType } from "graphql";
import { fieldsOf, objectTypesOf, rootFieldsOf } from "./schema-walk.ts";

/**
 * A field of `Query`, a page of a list, and every field with arguments can be null: each is read by itself, so that a
 * failure leaves the rest of the answer. A subscription's event is never null.
 */
export function whatIsReadCanBeNull(schema: GraphQLSchema): readonly string[] {
  const exempt = [schema.getMutationType(), schema.getSubscriptionType()].map((type) => type?.name);
  return fieldsOf(schema)
    .filter(({ path }) => !exempt.includes(path.split(".")[0]))
    .filter(({ path, type, args }) => {
      const isRead =
        path.startsWith("Query.") || args.length > 0 || getNamedType(type).name.endsWith("Connection");
      return isRead && isNonNullType(type);
    })
    .map(({ path }) => `${path} cannot be null, so a failure of it takes its parent away`);
}

/**
 * A field that can be null says when, or its type does for all of them, as a payload: a client then knows whether it is
 * an empty value or a failure. What is read by itself is null when it fails.
 */
export function nullsAreExplained(schema: GraphQLSchema): readonly string[] {
  return objectTypesOf(schema)
    .filter(({ description }) => !saysNull(description))
    .flatMap((type) =>
      Object.values(type.getFields())
        .filter(({ args, type }) => !isNonNullType(type) && args.length === 0)
        .filter(({ description }) => !saysNull(description))
        .map(({ name }) => `${type.name}.${name} can be null and does not say when`),
    );
}

function saysNull(description: string | null | undefined): boolean {
  return /\bnull\b/i.test(description ?? "");
}

/** Lists whose items answer those of another list one by one. */
const ONE_BY_ONE = ["Query.nodes", "FolderEntry.files"];

/** A list has no null items. */
export function listsHaveNoHoles(schema: GraphQLSchema): readonly string[] {
  return fieldsOf(schema)
    .filter(({ path }) => !ONE_BY_ONE.includes(path))
    .filter(({ type }) => {
      const list = getNullableType(type);
      return isListType(list) && !isNonNullType(list.ofType);
    })
    .map(({ path }) => `${path} is a list with items that can be null`);
}

/** A mutation can be null: it is when it throws, and the mutations next to it were carried out. */
export function mutationsCanBeNull(schema: GraphQLSchema): readonly string[] {
  return rootFieldsOf(schema, "mutation")
    .filter(({ type }) => isNonNullType(type))
    .map(({ name }) => `Mutation.${name} cannot be null`);
}
