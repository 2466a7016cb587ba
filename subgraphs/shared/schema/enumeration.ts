import "./reflect.ts";
import { registerEnumType } from "type-graphql";

/**
 * Defines a GraphQL enum from a union of the domain, with a description for every value. The names are derived from the
 * values (`"text-to-image"` is TEXT_TO_IMAGE); resolvers return and receive the values.
 */
export function defineEnum<Value extends string>(
  name: string,
  description: string,
  values: Readonly<Record<Value, string>>,
): object {
  const texts = Object.entries<string>(values);
  const members = Object.fromEntries(texts.map(([value]) => [nameOf(value), value]));
  const valuesConfig = Object.fromEntries(
    texts.map(([value, text]) => [nameOf(value), { description: text }]),
  );
  registerEnumType(members, { name, description, valuesConfig });
  return members;
}

function nameOf(value: string): string {
  return value
    .replace(/[a-z](?=[A-Z])/g, "$&_")
    .replace(/[^A-Za-z0-9]+/g, "_")
    .toUpperCase();
}
