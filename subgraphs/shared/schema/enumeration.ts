import "./reflect.ts";
import { registerEnumType } from "type-graphql";

/**
 * An enum of the graph out of a union of the domain: every value with its description, and none forgotten. Its names
 * follow from the values (`"text-to-image"` is TEXT_TO_IMAGE), and resolvers give and get the values.
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
