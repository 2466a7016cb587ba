import {
  type GraphQLNamedType,
  type GraphQLObjectType,
  type GraphQLSchema,
  getNamedType,
  isAbstractType,
  isInterfaceType,
  isLeafType,
  isObjectType,
} from "graphql";

/** Numbers from 0 up to 1 derived from a seed (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The arguments for fields that require some. */
export type Literals = Readonly<Record<string, readonly string[]>>;

/** Writes a valid query over a schema: aliases, fragments, conditions and lists at every depth up to `depth`. */
export function randomQuery(schema: GraphQLSchema, literals: Literals, seed: number, depth = 5): string {
  return new Writer(schema, literals, randomOf(seed)).write(depth);
}

class Writer {
  readonly #schema: GraphQLSchema;
  readonly #literals: Literals;
  readonly #random: () => number;
  #aliases = 0;

  constructor(schema: GraphQLSchema, literals: Literals, random: () => number) {
    this.#schema = schema;
    this.#literals = literals;
    this.#random = random;
  }

  write(depth: number): string {
    const query = this.#schema.getQueryType();
    const set = query ? this.#set(query, depth) : "";
    const variables = ["$yes: Boolean! = true", "$no: Boolean! = false"];
    const used = variables.filter((variable) => set.includes(`${variable.split(":")[0]})`));
    return `query${used.length > 0 ? ` (${used.join(", ")})` : ""} ${set}`;
  }

  #set(type: GraphQLNamedType, depth: number): string {
    const parts: string[] = [];
    const count = 1 + Math.floor(this.#random() * 4);
    for (let n = 0; n < count; n++) parts.push(this.#selection(type, depth));
    const written = parts.filter((part) => part !== "");
    return `{ ${written.length > 0 ? written.join(" ") : "__typename"} }`;
  }

  #selection(type: GraphQLNamedType, depth: number): string {
    if (this.#chance(0.08)) return this.#chance(0.5) ? "__typename" : `${this.#alias()}: __typename`;
    if (isAbstractType(type) && (this.#chance(0.7) || !isInterfaceType(type))) {
      const narrowed = this.#pick(this.#schema.getPossibleTypes(type));
      return narrowed ? `... on ${narrowed.name}${this.#condition()} ${this.#set(narrowed, depth)}` : "";
    }
    if (this.#chance(0.1)) return `...${this.#condition()} ${this.#set(type, depth)}`;
    return isObjectType(type) || isInterfaceType(type) ? this.#field(type as GraphQLObjectType, depth) : "";
  }

  #field(type: GraphQLObjectType, depth: number): string {
    const fields = Object.values(type.getFields()).filter(
      (field) => depth > 1 || isLeafType(getNamedType(field.type)),
    );
    const field = this.#pick(fields);
    if (!field) return "__typename";
    const args = this.#literals[`${type.name}.${field.name}`];
    const given = args ? `(${this.#pick(args)})` : "";
    const named = getNamedType(field.type);
    const inner = isLeafType(named) ? "" : ` ${this.#set(named, depth - 1)}`;
    // Equal keys must mean equal fields: every field with arguments has its own alias.
    const alias = args || this.#chance(0.3) ? `${this.#alias()}: ` : "";
    return `${alias}${field.name}${given}${this.#condition()}${inner}`;
  }

  #condition(): string {
    if (!this.#chance(0.12)) return "";
    return this.#pick(["@include(if: $yes)", "@include(if: $no)", "@skip(if: $yes)", "@skip(if: $no)"]) ?? "";
  }

  #alias(): string {
    this.#aliases += 1;
    // Occasionally the name of a field that joins use.
    return this.#chance(0.1) ? `x${this.#aliases}id` : `a${this.#aliases}`;
  }

  #chance(share: number): boolean {
    return this.#random() < share;
  }

  #pick<T>(from: readonly T[]): T | undefined {
    return from[Math.floor(this.#random() * from.length)];
  }
}
