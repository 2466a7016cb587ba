import {
  buildASTSchema,
  GraphQLScalarType,
  type GraphQLSchema,
  isIntrospectionType,
  isObjectType,
  isScalarType,
  Kind,
  parse,
} from "graphql";
import type { TestSubgraph } from "../../support/federation.ts";

// biome-ignore lint/suspicious/noExplicitAny: rows of whatever type, and arguments as the schema has them
type Resolver = (parent: any, args: any) => unknown;
type Row = Readonly<Record<string, unknown>> & { readonly __typename: string };

const MAKERS: readonly Row[] = [
  { __typename: "Person", id: "m1", handle: { name: "ann" }, name: "Ann", born: 1950, boss: null },
  { __typename: "Person", id: "m2", handle: { name: "bob" }, name: "Bob", born: null, boss: "m1" },
  { __typename: "Company", id: "m3", name: "Acme", staff: ["m1", "m2", null], founded: "1.5E+3" },
];
const ITEMS: readonly Row[] = [
  {
    __typename: "Book",
    id: "i1",
    title: "Dune",
    kind: "PAPER",
    maker: "m1",
    pages: 412,
    width: 2,
    height: 3,
  },
  { __typename: "Book", id: "i2", title: "", kind: "DIGITAL", maker: null, pages: null, width: 1, height: 9 },
  { __typename: "Film", id: "i3", title: 'Say "hi"\n', kind: "DIGITAL", maker: "m3", minutes: 90 },
  { __typename: "Film", id: "i4", title: "Ünï", kind: "OTHER", maker: "m2", minutes: 2_147_483_647 },
];
const REVIEWS: readonly Row[] = [
  { __typename: "Review", id: "r1", item: "i1", by: "m2", stars: 5, text: "good" },
  { __typename: "Review", id: "r2", item: "i1", by: "m1", stars: 1, text: null },
  { __typename: "Review", id: "r3", item: "i3", by: "m2", stars: 3, text: "so so" },
];

const fail = (message: string) => {
  throw new Error(message);
};
/** JSON with sorted keys: composition may order the fields of inputs differently from a subgraph. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, inner) =>
    inner !== null && typeof inner === "object" && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([first], [second]) => (first < second ? -1 : 1)))
      : inner,
  );
const itemOf = (id: unknown) => ITEMS.find((item) => item.id === id) ?? null;
const makerOf = (id: unknown) => MAKERS.find((maker) => maker.id === id) ?? null;
const personOf = (id: unknown) => MAKERS.find((row) => row.id === id && row.__typename === "Person") ?? null;
const reviewsOf = (item: unknown) => REVIEWS.filter((review) => review.item === item);

/** Every field that is more than a member of its row. */
const RESOLVERS: Readonly<Record<string, Readonly<Record<string, Resolver>>>> = {
  Query: {
    items: (_, { kinds, first }) =>
      ITEMS.filter(({ kind }) => !kinds || kinds.includes(kind)).slice(0, first ?? undefined),
    item: (_, { id }) => itemOf(id),
    shelves: () => [[ITEMS[0], null], null, [], [ITEMS[2], ITEMS[3]]],
    echo: (_, args) => canonical(args),
    found: (_, { where }) =>
      [...ITEMS, ...MAKERS, ...REVIEWS].filter(
        (row) => !where?.types || where.types.includes(row.__typename.toUpperCase()),
      ),
    reviewed: () => [...new Set(REVIEWS.map(({ item }) => item))].map(itemOf),
    latest: () => REVIEWS[0],
    reviews: (_, { minStars }) => REVIEWS.filter(({ stars }) => Number(stars) >= minStars),
    makers: () => MAKERS,
    person: (_, { id, handle }) =>
      MAKERS.find((row) => row.id === id) ??
      MAKERS.find(({ handle: known }) => handle && canonical(known) === canonical(handle)) ??
      null,
    stock: () => ITEMS.slice(0, 2),
  },
  Item: {
    maker: ({ maker }: Row) => makerOf(maker),
    reviews: ({ id }: Row, { first }) => reviewsOf(id).slice(0, first),
    average: ({ id }: Row) => {
      const stars = reviewsOf(id).map((review) => Number(review.stars));
      return stars.length === 0 ? null : stars.reduce((sum, one) => sum + one, 0) / stars.length;
    },
    label: ({ id }: Row, { style, sizes }) => `${id}/${style}/${JSON.stringify(sizes ?? null)}`,
  },
  Book: {
    area: ({ width, height }: Row) => Number(width) * Number(height),
    shipping: ({ width, height, kind }: Row, { express }) =>
      `${Number(width) * Number(height)} ${kind}${express ? " express" : ""}`,
    sequel: ({ id }: Row) => (id === "i1" ? itemOf("i2") : null),
  },
  Film: {
    cast: () => [personOf("m1"), null, personOf("m2")],
    rating: ({ id }: Row) => (id === "i3" ? fail("no rating") : 7),
  },
  Person: {
    boss: ({ boss }: Row) => personOf(boss),
    wrote: ({ id }: Row) => REVIEWS.filter(({ by }) => by === id),
    made: ({ id }: Row) => ITEMS.filter(({ maker }) => maker === id),
    balance: ({ id }: Row) => (id === "m1" ? "123456789012345678901234567890" : "-1"),
    secret: ({ id }: Row) => (id === "m1" ? fail("no secret") : "s"),
    motto: ({ name }: Row, { words }) => [name, ...(words ?? [])].join(" "),
  },
  Company: { staff: ({ staff }: Row) => (staff as readonly unknown[]).map(personOf) },
  Review: {
    item: ({ item }: Row) => itemOf(item),
    by: ({ by }: Row) => personOf(by),
    subject: ({ item, by, stars }: Row) => (Number(stars) > 2 ? itemOf(item) : personOf(by)),
  },
};

const byId =
  (rows: readonly Row[]) =>
  ({ id }: { id: string }) =>
    rows.find((row) => row.id === id) ?? null;
const REFERENCES: Readonly<Record<string, (key: never) => unknown>> = {
  Item: ({ id }: { id: string }) => itemOf(id),
  Book: (key: { id: string }) => ({ ...itemOf(key.id), ...key }),
  Film: byId(ITEMS),
  Company: byId(MAKERS),
  Review: byId(REVIEWS),
  Person: ({ id, handle }: { id?: string; handle?: { name: string } }) =>
    MAKERS.find((row) => row.id === id) ??
    MAKERS.find((row) => handle && (row.handle as { name?: string } | undefined)?.name === handle.name) ??
    null,
};

/** Integers of any size, as text: a literal is an integer or a string. */
const Big = new GraphQLScalarType({
  name: "Big",
  serialize: String,
  parseValue: String,
  parseLiteral: (node) =>
    node.kind === Kind.INT ? node.value : node.kind === Kind.STRING ? `"${node.value}"` : fail("not a Big"),
});

/**
 * All federation features, in four subgraphs: entity interfaces and `@interfaceObject`, `@requires`,
 * `@provides`, `@shareable`, `@override`, two keys.
 */
const SDL = {
  catalogue: `
    scalar Big
    type Query {
      items(kinds: [Format!], first: Int = 3): [Item!]! item(id: ID!): Item shelves: [[Item]]
      echo(big: Big, int: Int = -5, float: Float = 1.5, text: String = "a\\"b", id: ID, flag: Boolean, kind: Format = PAPER,
        page: Page = { first: 2, nested: { last: 1 } }, grid: [[Int]], bigs: [Big!]): String!
      found(where: Where): [Found!]
    }
    enum Format { PAPER DIGITAL OTHER }
    enum Kinds { BOOK FILM PERSON REVIEW COMPANY }
    input Where { types: [Kinds!] }
    input Page { first: Int! = 7 last: Int kind: Format = OTHER nested: Page tags: [String] big: Big }
    interface Titled { title: String! }
    interface Item implements Titled @key(fields: "id") { id: ID! title: String! kind: Format! maker: Maker }
    type Book implements Item & Titled @key(fields: "id") {
      id: ID! title: String! kind: Format! maker: Maker pages: Int width: Int! height: Int! sequel: Book
    }
    type Film implements Item & Titled @key(fields: "id") {
      id: ID! title: String! kind: Format! maker: Maker minutes: Int! cast: [Person]! rating: Int
    }
    union Maker = Person | Company
    union Found = Book | Film | Person | Review | Company
    union Subject = Book | Film | Person
    type Person @key(fields: "id") { id: ID! }
    type Company @key(fields: "id") { id: ID! }
    type Review @key(fields: "id") { id: ID! subject: Subject }
  `,
  reviews: `
    type Query { reviewed: [Item!]! latest: Review! reviews(minStars: Int! = 2): [Review!] }
    type Item @key(fields: "id") @interfaceObject {
      id: ID! reviews(first: Int! = 5): [Review!]! average: Float label(style: String! = "x", sizes: [Int!] = [1, 2]): String!
    }
    type Review @key(fields: "id") { id: ID! stars: Int! text: String item: Item by: Person! @provides(fields: "name") }
    type Person @key(fields: "id") { id: ID! name: String @external wrote: [Review!]! }
  `,
  people: `
    scalar Big
    type Query { makers: [Maker!]! person(id: ID, handle: HandleInput): Person }
    input HandleInput { name: String! }
    union Maker = Person | Company
    type Handle { name: String! @shareable }
    interface Named { name: String }
    type Person implements Named @key(fields: "id") @key(fields: "handle { name }") {
      id: ID! handle: Handle! @shareable name: String @shareable born: Int boss: Person balance: Big
      motto(words: [String!]): String! secret: String!
    }
    type Company implements Named @key(fields: "id") { id: ID! name: String staff: [Person]! founded: String }
  `,
  stock: `
    type Query { stock: [Book!]! }
    interface Item @key(fields: "id") { id: ID! }
    type Book implements Item @key(fields: "id") {
      id: ID! width: Int! @external height: Int! @external kind: Format! @external pages: Int @override(from: "catalogue")
      area: Int! @requires(fields: "width height")
      shipping(express: Boolean = false): String @requires(fields: "width height kind")
    }
    type Film implements Item @key(fields: "id") { id: ID! }
    enum Format { PAPER DIGITAL OTHER }
    type Person @key(fields: "handle { name }") { handle: Handle! @shareable made: [Item!]! }
    type Handle { name: String! @shareable }
  `,
} as const;

const ITEM_TYPES: ReadonlySet<string> = new Set(["Item", "Book", "Film"]);

/** The library as four subgraphs. */
export const library: Readonly<Record<string, TestSubgraph>> = Object.fromEntries(
  Object.entries(SDL).map(([name, sdl]) => [name, { sdl, resolvers: resolversIn(sdl) as never }]),
);

function resolversIn(sdl: string): object {
  const resolvers: Record<string, unknown> = {};
  for (const definition of parse(sdl).definitions) {
    if (definition.kind === Kind.SCALAR_TYPE_DEFINITION) resolvers.Big = Big;
    const isEntity =
      definition.kind === Kind.OBJECT_TYPE_DEFINITION || definition.kind === Kind.INTERFACE_TYPE_DEFINITION;
    if (!isEntity) continue;
    const type = definition.name.value;
    const find = REFERENCES[type];
    const own =
      definition.kind === Kind.OBJECT_TYPE_DEFINITION ? fieldResolvers(type, definition.fields ?? []) : {};
    resolvers[type] = { ...own, ...(find && { __resolveReference: find }) };
  }
  return resolvers;
}

function fieldResolvers(
  type: string,
  fields: readonly { readonly name: { readonly value: string } }[],
): Readonly<Record<string, unknown>> {
  const own = { ...(ITEM_TYPES.has(type) && RESOLVERS.Item), ...RESOLVERS[type] };
  return Object.fromEntries(
    fields.flatMap(({ name }) => (own[name.value] ? [[name.value, own[name.value]]] : [])),
  );
}

/** The library as one schema, which graphql-js executes: its answers are the reference. */
export function wholeLibrary(api: string): GraphQLSchema {
  const schema = buildASTSchema(parse(api));
  for (const type of Object.values(schema.getTypeMap())) {
    if (isScalarType(type) && type.name === "Big") Object.assign(type, Big, { astNode: type.astNode });
    // Introspection types are the same objects in every schema.
    if (!isObjectType(type) || isIntrospectionType(type)) continue;
    const fields = Object.values(type.getFields());
    const resolvers: Readonly<Record<string, unknown>> = fieldResolvers(
      type.name,
      fields.map(({ name }) => ({ name: { value: name } })),
    );
    for (const field of fields) field.resolve = resolvers[field.name] as never;
  }
  return schema;
}
