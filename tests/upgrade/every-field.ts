import {
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLSchema,
  getNamedType,
  isAbstractType,
  isLeafType,
  isObjectType,
  isRequiredArgument,
} from "graphql";
import { ask } from "../support/clients/graph-client.ts";

/** Where an object of a type was found: the selections around its fields. */
type Place = { readonly type: GraphQLObjectType; readonly open: string; readonly close: string };

/** What a walk found. */
export type Walk = {
  /** The types of which an object was read. */
  readonly read: ReadonlySet<string>;
  /** The fields that failed for reasons of ours, as `Type.field: code operation`. */
  readonly bugs: readonly string[];
};

type Options = {
  readonly origin: string;
  readonly secret: string;
  readonly schema: GraphQLSchema;
  /** Literals of required arguments, by their names, or by `Type.field.name`. */
  readonly values: Readonly<Record<string, string>>;
};

/** The codes of failures that no caller can be the cause of. */
const OURS: ReadonlySet<unknown> = new Set([undefined, "internal_error", "unavailable"]);
const MAX_PLACES_OF_TYPE = 8;

/**
 * Reads every field that can be reached from the root of queries: of each type one object, with all of its fields that
 * need no arguments or whose arguments have `values`. A type is sought at several places until an object of it is found.
 */
export async function readEveryField({ origin, secret, schema, values }: Options): Promise<Walk> {
  const read = new Set<string>();
  const bugs: string[] = [];
  const tries = new Map<string, number>();
  const root = schema.getQueryType();
  const places: Place[] = root ? [{ type: root, open: "{", close: "}" }] : [];
  const argumentsOf = (type: GraphQLObjectType, { name, args }: GraphQLField<unknown, unknown>) => {
    const required = args.filter(isRequiredArgument);
    const given = required.map((arg) => [
      arg.name,
      values[`${type.name}.${name}.${arg.name}`] ?? values[arg.name],
    ]);
    if (given.some(([, value]) => value === undefined)) return undefined;
    if (args.some((arg) => arg.name === "first")) given.push(["first", "3"]);
    return given.length > 0 ? `(${given.map((pair) => pair.join(": ")).join(", ")})` : "";
  };
  for (const place of places) {
    const { type, open, close } = place;
    const tried = tries.get(type.name) ?? 0;
    if (read.has(type.name) || tried >= MAX_PLACES_OF_TYPE) continue;
    tries.set(type.name, tried + 1);
    let isRead = type === root;
    for (const field of Object.values(type.getFields())) {
      const given = argumentsOf(type, field);
      if (given === undefined) continue;
      const inner = isLeafType(getNamedType(field.type)) ? "" : " { __typename }";
      const text = `${open} __typename ${field.name}${given}${inner} ${close}`;
      const { data, errors = [] } = await ask(origin, secret, text);
      for (const { extensions } of errors)
        if (OURS.has(extensions?.code)) bugs.push(`${type.name}.${field.name}: ${extensions?.code} ${text}`);
      isRead ||= JSON.stringify(data ?? null).includes(`"__typename":"${type.name}"`);
      if (isRead)
        places.push(...within(schema, field, { ...place, open: `${open} ${field.name}${given} {` }));
    }
    if (isRead) read.add(type.name);
  }
  return { read, bugs };
}

/** The places below a field, one for each type of objects that it may have. */
function within(
  schema: GraphQLSchema,
  field: GraphQLField<unknown, unknown>,
  { open, close }: Place,
): readonly Place[] {
  const type = getNamedType(field.type);
  if (isObjectType(type)) return [{ type, open, close: `} ${close}` }];
  if (!isAbstractType(type)) return [];
  return schema
    .getPossibleTypes(type)
    .map((one) => ({ type: one, open: `${open} ... on ${one.name} {`, close: `} } ${close}` }));
}
