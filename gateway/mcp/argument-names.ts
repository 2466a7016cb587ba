import { type DocumentNode, Kind, type ValueNode, visit } from "graphql";

/** A place in a document that an argument of its tool fills. */
export type ArgumentPlace = {
  /** The names of the field in a result and of those around it, from the root of the operation or of a fragment. */
  readonly field: readonly string[];
  /** The place among the field's arguments as errors name it: within `input`, if the field has one. */
  readonly member: string;
  readonly argument: string;
};

/** The places that the variables of a document fill. */
export function findArgumentPlaces(document: DocumentNode): readonly ArgumentPlace[] {
  const places: ArgumentPlace[] = [];
  const field: string[] = [];
  const collect = (value: ValueNode, path: readonly string[]): void => {
    if (value.kind === Kind.VARIABLE)
      places.push({ field: [...field], member: path.join("."), argument: value.name.value });
    if (value.kind === Kind.OBJECT)
      for (const { name, value: member } of value.fields) collect(member, [...path, name.value]);
    if (value.kind === Kind.LIST)
      for (const [at, item] of value.values.entries()) collect(item, [...path, String(at)]);
  };
  visit(document, {
    Field: {
      enter(node) {
        field.push((node.alias ?? node.name).value);
        for (const { name, value } of node.arguments ?? [])
          collect(value, name.value === "input" ? [] : [name.value]);
      },
      leave: () => void field.pop(),
    },
  });
  return places;
}

/**
 * The argument that a member of a field's input was sent in, as a path with dots; undefined if it was sent in none.
 * `path` is that of the field in the result.
 */
export function argumentAt(
  places: readonly ArgumentPlace[],
  path: readonly (string | number)[],
  member: string,
): string | undefined {
  const names = path.filter((name) => typeof name === "string");
  const [place] = places
    .filter(({ field }) => field.every((name, at) => name === names.at(at - field.length)))
    .filter((one) => isWithin(member, one.member))
    .toSorted((one, other) => other.member.length - one.member.length);
  if (!place) return undefined;
  const rest = place.member === "" ? `.${member}` : member.slice(place.member.length);
  return `${place.argument}${rest}`;
}

function isWithin(member: string, parent: string): boolean {
  return parent === "" || member === parent || member.startsWith(`${parent}.`);
}
