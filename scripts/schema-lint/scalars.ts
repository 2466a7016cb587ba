import { type GraphQLSchema, getNamedType, isScalarType, isSpecifiedScalarType } from "graphql";
import { fieldsOf } from "./schema-walk.ts";

/** Every scalar says where its format is specified. */
export function scalarsAreSpecified(schema: GraphQLSchema): readonly string[] {
  return Object.values(schema.getTypeMap())
    .filter((type) => isScalarType(type) && !isSpecifiedScalarType(type))
    .filter((type) => isScalarType(type) && !type.specifiedByURL)
    .map(({ name }) => `${name} has no @specifiedBy`);
}

/** What has a type of its own is not a text: times, days, dollars, transaction and block hashes. */
const TYPED: readonly (readonly [name: RegExp, type: string])[] = [
  [/(^at|[a-z]At)$/, "DateTime"],
  [/^(date|day)$/, "Date"],
  [/Usd/, "Decimal"],
  [/^(transactionHash|blockHash|parentHash)$/, "Hash32"],
  [/[a-z](Address)$|^address$/, "Address"],
];

/** The address of a validator is one of the consensus client, in a spelling of its own. */
const OTHER_FORMATS = ["NodeConsensus.validatorAddress"];

/** A field whose name says what it is has the type of that. */
export function valuesAreTyped(schema: GraphQLSchema): readonly string[] {
  return fieldsOf(schema).flatMap(({ name, path, type }) => {
    if (OTHER_FORMATS.includes(path)) return [];
    const [, expected] = TYPED.find(([pattern]) => pattern.test(name)) ?? [];
    const found = getNamedType(type).name;
    return expected !== undefined && expected !== found && found === "String"
      ? [`${path} is a String instead of a ${expected}`]
      : [];
  });
}
