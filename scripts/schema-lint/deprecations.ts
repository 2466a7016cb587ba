import { type GraphQLSchema, isEnumType, isInputObjectType, isInterfaceType, isObjectType } from "graphql";

const REASON = /^Removed on (\d{4}-\d\d-\d\d)\. Use `[^`]+`\.$/;

/** A deprecated element: its coordinate, and the day from which it may be removed, if its reason names one. */
export type Deprecation = { readonly path: string; readonly removedOn: string | undefined };

/** Every deprecated field, argument, input field and enum value of a schema. */
export function deprecationsIn(schema: GraphQLSchema): readonly Deprecation[] {
  return Object.values(schema.getTypeMap()).flatMap((type) => {
    if (isEnumType(type)) return deprecated(type.name, type.getValues());
    if (isInputObjectType(type)) return deprecated(type.name, Object.values(type.getFields()));
    if (!isObjectType(type) && !isInterfaceType(type)) return [];
    const fields = Object.values(type.getFields());
    return [
      ...deprecated(type.name, fields),
      ...fields.flatMap(({ name, args }) => deprecated(`${type.name}.${name}`, args)),
    ];
  });
}

/** A deprecation names the day of its removal and the successor, in one form that tools can read. */
export function deprecationsAreDated(schema: GraphQLSchema): readonly string[] {
  return deprecationsIn(schema)
    .filter(({ removedOn }) => removedOn === undefined)
    .map(({ path }) => `${path} is deprecated without "Removed on YYYY-MM-DD. Use \`successor\`."`);
}

type Deprecatable = { readonly name: string; readonly deprecationReason?: string | null | undefined };

function deprecated(parent: string, members: readonly Deprecatable[]): readonly Deprecation[] {
  return members.flatMap(({ name, deprecationReason }) =>
    deprecationReason == null
      ? []
      : [{ path: `${parent}.${name}`, removedOn: REASON.exec(deprecationReason)?.[1] }],
  );
}
