import { createHash } from "node:crypto";
import {
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  isAbstractType,
  isEnumType,
  isListType,
  isNonNullType,
  isObjectType,
} from "graphql";

/** An object of a synthetic graph. The values of its fields are derived from its identity. */
export type SyntheticObject = Readonly<Record<string, unknown>> & {
  readonly __typename: string;
  readonly identity: string;
};

/** How the objects of some schemas are identified, and the possible types of abstract types. */
export type SyntheticModel = {
  /** The key fields of an entity; undefined for all other types. */
  readonly keysOf: (type: string) => readonly string[] | undefined;
  /** The types of the objects that a field of an abstract type may return, the same for every schema. */
  readonly membersOf: (abstractType: string) => readonly string[];
};

const NULL_ONE_IN = 9;
const FAIL_ONE_IN = 60;
const MAX_ITEMS = 3;
/** So few of each kind that several paths lead to one entity. */
const KEY_VALUES = 6;

/**
 * Gives every field of a schema a resolver whose result depends only on the object, the field and its
 * arguments. So one whole schema and the subgraphs that it was composed of must answer alike, whatever is in
 * them.
 */
export function resolveSynthetically(schema: GraphQLSchema, model: SyntheticModel): void {
  const maker = new ValueMaker(schema, model);
  for (const type of Object.values(schema.getTypeMap())) {
    if (isAbstractType(type)) type.resolveType = (value: SyntheticObject) => value.__typename;
    if (!isObjectType(type) || type.name.startsWith("_")) continue;
    for (const field of Object.values(type.getFields())) {
      if (field.name.startsWith("_")) continue;
      field.resolve = (parent: SyntheticObject | undefined, args: object, context: unknown, info) => {
        if (type === schema.getMutationType())
          (context as SyntheticContext).ran.push(`${field.name}${canonical(args)}`);
        return maker.field(parent, type === schema.getSubscriptionType() ? withoutNull(args) : args, info);
      };
      if (type === schema.getSubscriptionType()) field.subscribe = emit;
    }
  }
}

/** Engines resume subscriptions by `after`: null is the same as no cursor. */
function withoutNull(args: { readonly after?: unknown }): object {
  const { after, ...others } = args;
  return after === null ? others : args;
}

/** What resolvers receive: the mutations that ran so far. */
export type SyntheticContext = { readonly ran: string[] };

async function* emit(): AsyncGenerator<SyntheticObject, void, undefined> {
  for (const number of [1, 2, 3]) yield { __typename: "Event", identity: `event ${number}` };
}

/** The entity that a reference with these keys means. */
export function entityOf(
  type: string,
  keys: readonly string[],
  reference: Readonly<Record<string, unknown>>,
): SyntheticObject {
  const values = Object.fromEntries(keys.map((key) => [key, reference[key]]));
  return { __typename: type, identity: `${type} ${JSON.stringify(values)}`, ...values };
}

class ValueMaker {
  readonly #schema: GraphQLSchema;
  readonly #model: SyntheticModel;

  constructor(schema: GraphQLSchema, model: SyntheticModel) {
    this.#schema = schema;
    this.#model = model;
  }

  field(
    parent: SyntheticObject | undefined,
    args: object,
    {
      fieldName,
      parentType,
      returnType,
    }: Pick<GraphQLResolveInfo, "fieldName" | "parentType" | "returnType">,
  ): unknown {
    if (parent && fieldName in parent) return parent[fieldName];
    const seed = `${parent?.identity ?? ""}/${parentType.name}.${fieldName}${canonical(args)}`;
    // Engines also select the cursor of each event.
    const mayFail = fieldName !== "cursor";
    if (mayFail && number(seed, "fails", FAIL_ONE_IN) === 0)
      throw new Error(`${parentType.name}.${fieldName} failed`);
    return this.#value(returnType, seed);
  }

  #value(type: GraphQLOutputType, seed: string): unknown {
    if (isNonNullType(type)) return this.#present(type.ofType, seed);
    return number(seed, "null", NULL_ONE_IN) === 0 ? null : this.#present(type, seed);
  }

  #present(type: Exclude<GraphQLOutputType, { kind?: never }>, seed: string): unknown {
    if (isListType(type)) {
      const items = number(seed, "length", MAX_ITEMS + 1);
      return Array.from({ length: items }, (_, index) => this.#value(type.ofType, `${seed}[${index}]`));
    }
    if (isEnumType(type))
      return pick(
        type
          .getValues()
          .map(({ name }) => name)
          .sort(),
        seed,
      );
    if (isAbstractType(type)) {
      const name = pick(this.#model.membersOf(type.name), seed);
      return this.#object(this.#schema.getType(name) as GraphQLObjectType, seed);
    }
    if (isObjectType(type)) return this.#object(type, seed);
    return scalar(String(type), number(seed, "scalar", 2 ** 31));
  }

  #object(type: GraphQLObjectType, seed: string): SyntheticObject {
    const keys = this.#model.keysOf(type.name);
    if (!keys) return { __typename: type.name, identity: `${type.name} of ${seed}` };
    const values = keys.map((key) => [key, scalar("key", number(seed, key, KEY_VALUES))]);
    return entityOf(type.name, keys, Object.fromEntries(values));
  }
}

function scalar(type: string, value: number): unknown {
  if (type === "Int") return value - 2 ** 30;
  if (type === "Float") return value / 7;
  if (type === "Boolean") return value % 2 === 0;
  // Occasionally a text that must be escaped.
  return value % 5 === 0 ? `"${type}"\n\u2028 ${value}` : `${type} ${value}`;
}

function pick(from: readonly string[], seed: string): string {
  const picked = from[number(seed, "pick", Math.max(1, from.length))];
  if (picked === undefined) throw new Error(`nothing to pick from for ${seed}`);
  return picked;
}

/** A number from 0 up to, but not including, `end`. */
function number(seed: string, purpose: string, end: number): number {
  return createHash("sha256").update(`${purpose} ${seed}`).digest().readUInt32BE() % end;
}

/** JSON with sorted keys: composition may order the fields of inputs differently from a subgraph. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, inner) =>
    inner !== null && typeof inner === "object" && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([one], [other]) => (one < other ? -1 : 1)))
      : inner,
  );
}
