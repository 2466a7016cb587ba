import {
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  isEnumType,
  isNonNullType,
  isObjectType,
} from "graphql";
import { FAILURES, GRAPHQL_FAILURES, RECORDED_ENDINGS } from "../../src/kernel/errors.ts";
import { fieldsOf, rootFieldsOf } from "./schema-walk.ts";

/** A mutation has at most one argument: `input`, of the type `<Mutation>Input`. */
export function mutationsTakeOneInput(schema: GraphQLSchema): readonly string[] {
  return rootFieldsOf(schema, "mutation")
    .filter(({ args }) => args.length > 0)
    .filter(({ name, args: [input, ...others] }) => {
      const isInput = input?.name === "input" && getNamedType(input.type).name === typeOf(name, "Input");
      return !isInput || others.length > 0;
    })
    .map(({ name }) => `Mutation.${name} does not take one argument input: ${typeOf(name, "Input")}`);
}

/** A mutation answers `<Mutation>Payload`: `userErrors`, and fields that are null when there are some. */
export function mutationsAnswerPayloads(schema: GraphQLSchema): readonly string[] {
  return rootFieldsOf(schema, "mutation").flatMap(({ name, type }) => {
    const payload = getNamedType(type);
    if (!isObjectType(payload) || payload.name !== typeOf(name, "Payload"))
      return [`Mutation.${name} does not answer ${typeOf(name, "Payload")}`];
    const { userErrors, ...fields } = payload.getFields();
    const required = Object.values(fields).filter((field) => isNonNullType(field.type));
    return [
      ...(String(userErrors?.type) === "[UserError!]!" ? [] : [`${payload.name} has no userErrors`]),
      ...required.map((field) => `${payload.name}.${field.name} cannot be null when there are userErrors`),
    ];
  });
}

/** The codes of failures are those of the catalogue, and a field that is a code has their type. */
export function errorsHaveCodes(schema: GraphQLSchema): readonly string[] {
  const type = schema.getType("ErrorCode");
  const found = isEnumType(type) ? type.getValues().map(({ name }) => name) : [];
  const known = Object.keys({ ...FAILURES, ...RECORDED_ENDINGS, ...GRAPHQL_FAILURES });
  return [
    ...known.filter((code) => !found.includes(code)).map((code) => `ErrorCode lacks ${code}`),
    ...found
      .filter((code) => !known.includes(code))
      .map((code) => `ErrorCode.${code} is not in the catalogue`),
    ...fieldsOf(schema)
      .filter((field) => /^(.*E|e)rrorCode$/.test(field.name) && getNullableType(field.type) !== type)
      .map(({ path }) => `${path} is not an ErrorCode`),
  ];
}

function typeOf(mutation: string, role: "Input" | "Payload"): string {
  return mutation.replace(/^./, (letter) => letter.toUpperCase()) + role;
}
