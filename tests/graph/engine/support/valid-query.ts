import {
  type GraphQLArgument,
  type GraphQLInputType,
  type GraphQLInterfaceType,
  type GraphQLNamedType,
  type GraphQLObjectType,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  isAbstractType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  type OperationTypeNode,
} from "graphql";

/** Draws a number from 0 up to, but not including, `end`. */
export type Draw = (end: number) => number;

/** An operation with its variables. */
export type DrawnQuery = {
  readonly query: string;
  readonly variables: Readonly<Record<string, unknown>>;
  /** Whether a variable is null where null is not allowed, which a default in the operation or the schema makes valid. */
  readonly hasForbiddenNull: boolean;
};

/** A value as a literal and as JSON. */
type Value = { readonly literal: string; readonly json: unknown };

/** Values to use, by the name of a scalar, or of one argument such as `Query.user.id`. */
type Values = Readonly<Record<string, readonly Value[]>>;

/** Fields that are never selected, such as `Query.node`. */
export type DrawOptions = {
  readonly values?: Values;
  readonly without?: ReadonlySet<string>;
  /** Names for some of the variables, such as those that the planner uses too. */
  readonly variableNames?: readonly string[];
  readonly depth?: number;
  /** A query by default. */
  readonly operation?: `${OperationTypeNode}`;
  /** The maximum number of fields and fragments of an operation. */
  readonly maxFields?: number;
};

const TEXTS = [
  ...["", "a", 'q"\\ \n\t', "ünï 💥 \u2028", "{ not: code }", "#", "-1e5", "$variable", "$_literal0"],
  ...["\b\f\r\u0000\u001f\u007f\u0085", "\ufeff\u200b", "number:1", "_number:1"],
];
const plain = (value: unknown): Value => ({ literal: JSON.stringify(value), json: value });

/** Values for the scalars that every schema has. */
const BUILT_IN: Values = {
  Int: [0, 1, 2, -1, 2_147_483_647, -2_147_483_648].map(plain),
  Float: [
    ...[0, -0.5, 3, 1e21, 0.1, 2_147_483_648, 123_456_789_012].map(plain),
    { literal: "1.5E-7", json: 1.5e-7 },
    { literal: "12345678901234567890", json: Number("12345678901234567890") },
    { literal: "1.7976931348623157e308", json: Number.MAX_VALUE },
    { literal: "-0.12345678901234567890123456789", json: Number("-0.12345678901234567890123456789") },
    { literal: "5E-324", json: Number.MIN_VALUE },
    { literal: "1e-400", json: 0 },
  ],
  String: [
    ...TEXTS.map(plain),
    { literal: '"""\n  block "text"\n    \\""" \n"""', json: 'block "text"\n  """ ' },
    { literal: '"\\b\\f\\/\\u{1F4A5}\\uD83D\\uDCA5"', json: "\b\f/💥💥" },
  ],
  ID: [
    ...["", "1", "nope", "\b", "99999999999999999999"].map(plain),
    { literal: "42", json: 42 },
    { literal: "-123456789012345678901234567890", json: "-123456789012345678901234567890" },
  ],
  Boolean: [plain(true), plain(false)],
};

/**
 * Generates an operation over a schema: aliases, fragments with and without a name, conditions by literals
 * and variables, arguments, defaults and nulls. `validate` may refuse it where two selections do not merge.
 */
export function drawQuery(schema: GraphQLSchema, draw: Draw, options: DrawOptions = {}): DrawnQuery {
  return new QueryWriter(schema, draw, options).write();
}

class QueryWriter {
  readonly #schema: GraphQLSchema;
  readonly #draw: Draw;
  readonly #values: Values;
  readonly #without: ReadonlySet<string>;
  readonly #variableNames: readonly string[];
  readonly #depth: number;
  readonly #operation: `${OperationTypeNode}`;
  readonly #variables: Record<string, unknown> = {};
  readonly #definitions: string[] = [];
  readonly #fragments: { readonly name: string; readonly type: string; readonly text: string }[] = [];
  #fieldsLeft: number;
  #names = 0;
  #hasForbiddenNull = false;

  constructor(schema: GraphQLSchema, draw: Draw, options: DrawOptions) {
    this.#schema = schema;
    this.#draw = draw;
    this.#values = { ...BUILT_IN, ...options.values };
    this.#without = options.without ?? new Set();
    this.#variableNames = options.variableNames ?? [];
    this.#depth = options.depth ?? 5;
    this.#operation = options.operation ?? "query";
    this.#fieldsLeft = options.maxFields ?? 40;
  }

  write(): DrawnQuery {
    const root = this.#schema.getRootType(this.#operation as OperationTypeNode);
    if (!root) throw new Error(`the schema has no ${this.#operation} type`);
    const set =
      this.#operation === "subscription" ? this.#source(root, this.#depth) : this.#set(root, this.#depth);
    const variables = this.#definitions.length > 0 ? `(${this.#definitions.join(", ")})` : "";
    const fragments = this.#fragments.map(({ name, type, text }) => `fragment ${name} on ${type} ${text}`);
    return {
      query: [`${this.#operation} Q${variables} ${set}`, ...fragments].join("\n"),
      variables: this.#variables,
      hasForbiddenNull: this.#hasForbiddenNull,
    };
  }

  #set(type: GraphQLNamedType, depth: number): string {
    const parts: string[] = [];
    const count = 1 + this.#draw(4);
    for (let part = 0; part < count && this.#fieldsLeft > 0; part++) parts.push(this.#selection(type, depth));
    return `{ ${parts.length > 0 ? parts.join(" ") : "__typename"} }`;
  }

  /** One unconditional field, at times in a fragment. */
  #source(type: GraphQLObjectType, depth: number): string {
    const field = `{ ${this.#field(type, depth, "")} }`;
    return this.#oneIn(4) ? `{ ... on ${type.name} ${field} }` : field;
  }

  #selection(type: GraphQLNamedType, depth: number): string {
    if (this.#oneIn(12))
      return `${this.#oneIn(2) ? `${this.#name("t")}: ` : ""}__typename${this.#condition()}`;
    const isFieldless = isAbstractType(type) && !isInterfaceType(type);
    if (depth > 0 && (isFieldless || this.#oneIn(isAbstractType(type) ? 2 : 7)))
      return this.#fragment(type, depth);
    return isObjectType(type) || isInterfaceType(type) ? this.#field(type, depth) : "__typename";
  }

  /** On the type itself, on a possible type of it, or on an interface that it implements. */
  #fragment(type: GraphQLNamedType, depth: number): string {
    this.#fieldsLeft -= 1;
    const narrower = isAbstractType(type) ? [...this.#schema.getPossibleTypes(type)] : [];
    const wider = isObjectType(type) || isInterfaceType(type) ? [...type.getInterfaces()] : [];
    const on = this.#pick<GraphQLNamedType>([type, ...narrower, ...narrower, ...wider]) ?? type;
    const kind = this.#draw(4);
    if (kind === 0 && on === type) return `...${this.#condition()} ${this.#set(on, depth)}`;
    if (kind > 1) return `... on ${on.name}${this.#condition()} ${this.#set(on, depth)}`;
    const known = this.#fragments.filter((fragment) => fragment.type === on.name);
    const again = this.#oneIn(2) ? this.#pick(known) : undefined;
    if (again) return `...${again.name}${this.#condition()}`;
    const text = this.#set(on, depth);
    const name = this.#name("F");
    this.#fragments.push({ name, type: on.name, text });
    return `...${name}${this.#condition()}`;
  }

  #field(type: GraphQLObjectType | GraphQLInterfaceType, depth: number, condition?: string): string {
    const fields = Object.values(type.getFields()).filter(
      (field) =>
        (depth > 1 || isLeafType(getNamedType(field.type))) &&
        !this.#without.has(`${type.name}.${field.name}`),
    );
    const field = this.#pick(fields);
    if (!field) return "__typename";
    this.#fieldsLeft -= 1;
    const named = getNamedType(field.type);
    const args = field.args.flatMap((arg) => this.#argument(arg, `${type.name}.${field.name}.${arg.name}`));
    const given = args.length > 0 ? `(${args.join(", ")})` : "";
    const inner = isLeafType(named) ? "" : ` ${this.#set(named, depth - 1)}`;
    // Equal keys must mean equal fields: every field with arguments has its own alias.
    const alias = field.args.length > 0 || this.#oneIn(4) ? `${this.#alias(type)}: ` : "";
    return `${alias}${field.name}${given}${condition ?? this.#condition()}${inner}`;
  }

  /** Occasionally the name of another field with a selection, or one that joins use. */
  #alias(type: GraphQLObjectType | GraphQLInterfaceType): string {
    if (!this.#oneIn(6)) return this.#name("a");
    return `${this.#pick(["id", "_alias_id", "_entities", ...Object.keys(type.getFields())]) ?? "id"}${this.#name("")}`;
  }

  #argument(arg: GraphQLArgument, place: string): string[] {
    const isRequired = isNonNullType(arg.type) && arg.defaultValue === undefined;
    if (!isRequired && this.#oneIn(2)) return [];
    return [`${arg.name}: ${this.#valueOrVariable(arg.type, place, arg.defaultValue !== undefined)}`];
  }

  #valueOrVariable(type: GraphQLInputType, place: string, hasDefault = false): string {
    return this.#oneIn(4) ? this.#variable(type, place, hasDefault) : this.#value(type, place, true).literal;
  }

  /** Sent, defaulted, or omitted where that is valid. */
  #variable(type: GraphQLInputType, place: string, hasDefault: boolean): string {
    const name = this.#variableName();
    const value = this.#value(type, place, false);
    const withDefault = this.#oneIn(3);
    const written = withDefault || hasDefault ? getNullableType(type) : type;
    const isNullDefault = value.literal === "null" && isNonNullType(type);
    this.#definitions.push(
      `$${name}: ${written}${withDefault && !isNullDefault ? ` = ${value.literal}` : ""}`,
    );
    const mayBeLeftOut = !isNonNullType(type) || withDefault || hasDefault;
    if (!mayBeLeftOut || this.#oneIn(2)) this.#variables[name] = this.#value(type, place, false).json;
    if (written !== type && this.#oneIn(40)) this.#give(name, null);
    return `$${name}`;
  }

  #variableName(): string {
    const isNamed = this.#variableNames.length > 0 && this.#oneIn(6);
    const named = isNamed ? this.#pick(this.#variableNames) : undefined;
    const isTaken = this.#definitions.some((text) => text.startsWith(`$${named}:`));
    return named === undefined || isTaken ? this.#name("v") : named;
  }

  /** `isInPlace` says whether variables are allowed in it. */
  #value(type: GraphQLInputType, place: string, isInPlace: boolean): Value {
    if (isNonNullType(type)) return this.#present(type.ofType, place, isInPlace);
    return this.#oneIn(8) ? { literal: "null", json: null } : this.#present(type, place, isInPlace);
  }

  #present(type: GraphQLInputType, place: string, isInPlace: boolean): Value {
    const own = this.#pick(this.#values[place] ?? []);
    if (own) return own;
    const part = (inner: GraphQLInputType, hasDefault = false): Value =>
      isInPlace && this.#oneIn(6) && isLeafType(getNullableType(inner))
        ? { literal: this.#variable(inner, "", hasDefault), json: null }
        : this.#value(inner, "", isInPlace);
    if (isListType(type)) {
      const items = Array.from({ length: this.#draw(4) }, () => part(type.ofType));
      const [single] = items;
      // A single value is coerced to a list of it.
      if (single && items.length === 1 && this.#oneIn(2) && single.literal !== "null") return single;
      return {
        literal: `[${items.map(({ literal }) => literal).join(", ")}]`,
        json: items.map(({ json }) => json),
      };
    }
    if (isInputObjectType(type)) {
      const fields = Object.values(type.getFields()).filter(
        (field) => (isNonNullType(field.type) && field.defaultValue === undefined) || this.#oneIn(3),
      );
      const values = fields.map(
        ({ name, type: inner, defaultValue }) => [name, part(inner, defaultValue !== undefined)] as const,
      );
      return {
        literal: `{${values.map(([name, { literal }]) => `${name}: ${literal}`).join(", ")}}`,
        json: Object.fromEntries(values.map(([name, { json }]) => [name, json])),
      };
    }
    if (isEnumType(type)) {
      const name = this.#pick(type.getValues())?.name ?? "";
      return { literal: name, json: name };
    }
    const known = "name" in type ? this.#pick(this.#values[type.name] ?? []) : undefined;
    if (!known) throw new Error(`there are no values for ${String(type)}`);
    return known;
  }

  #condition(): string {
    if (!this.#oneIn(7)) return "";
    const one = () => ` @${this.#oneIn(2) ? "skip" : "include"}(if: ${this.#flag()})`;
    if (!this.#oneIn(5)) return one();
    return ` @skip(if: ${this.#flag()}) @include(if: ${this.#flag()})`;
  }

  #flag(): string {
    const kind = this.#draw(4);
    if (kind === 0) return String(this.#oneIn(2));
    const name = `flag${this.#draw(3)}`;
    if (!(name in this.#variables) && !this.#definitions.some((text) => text.startsWith(`$${name}:`))) {
      const withDefault = this.#oneIn(2);
      const mayBeNull = withDefault && this.#oneIn(2);
      const type = mayBeNull ? "Boolean" : "Boolean!";
      this.#definitions.push(`$${name}: ${type}${withDefault ? ` = ${this.#oneIn(2)}` : ""}`);
      if (!withDefault || this.#oneIn(2))
        this.#give(name, mayBeNull && this.#oneIn(8) ? null : this.#oneIn(2));
    }
    return `$${name}`;
  }

  #give(name: string, value: boolean | null): void {
    this.#variables[name] = value;
    if (value === null) this.#hasForbiddenNull = true;
  }

  #name(prefix: string): string {
    this.#names += 1;
    return `${prefix}${this.#names}`;
  }

  #oneIn(count: number): boolean {
    return this.#draw(count) === count - 1;
  }

  #pick<T>(from: readonly T[]): T | undefined {
    return from[this.#draw(Math.max(1, from.length))];
  }
}
