import { buildASTSchema, type GraphQLSchema, isObjectType, parse } from "graphql";
import type { TestSubgraph } from "../../support/federation.ts";
import { PRODUCTS, type Product, REVIEWS, type Review, SHOPS, type Shop, USERS, type User } from "./data.ts";

// biome-ignore lint/suspicious/noExplicitAny: rows of whatever type, and arguments as the schema has them
type Resolver = (parent: any, args: any) => unknown;
type Row = { readonly __typename: string };

const fail = (message: string) => {
  throw new Error(message);
};
const userOf = (id: string): User | null => USERS.find((user) => user.id === id) ?? null;
const productOf = (upc: string): Product | null => PRODUCTS.find((product) => product.upc === upc) ?? null;
const reviewsOf = (wanted: (review: Review) => boolean) => REVIEWS.filter(wanted);
const everything: readonly Row[] = [...USERS, ...PRODUCTS, ...REVIEWS];

/**
 * Every field that is more than a member of its row. Both the subgraphs and the whole graph are made of
 * these.
 */
const RESOLVERS: Readonly<Record<string, Readonly<Record<string, Resolver>>>> = {
  Query: {
    me: () => userOf("u1"),
    users: () => USERS,
    user: (_, { id }) => userOf(id),
    products: (_, { first, kind }) =>
      PRODUCTS.filter((product) => !kind || product.kind === kind).slice(0, first ?? PRODUCTS.length),
    product: (_, { upc }) => productOf(upc),
    shops: () => SHOPS,
    reviews: (_, { where }: { where?: { minStars?: number; authors?: readonly string[] | null } }) =>
      reviewsOf(
        ({ stars, author }) =>
          stars >= (where?.minStars ?? 0) && (!where?.authors || where.authors.includes(author)),
      ),
    search: (_, { text }: { text: string }) => everything.filter((row) => JSON.stringify(row).includes(text)),
    nodes: (_, { ids }: { ids: readonly string[] }) =>
      ids.map((id) => everything.find((row) => "id" in row && row.id === id) ?? null),
    grid: () => [
      [PRODUCTS[0], PRODUCTS[1]],
      [PRODUCTS[2], null, PRODUCTS[0]],
    ],
    echo: (_, { value }) => JSON.stringify(value ?? null),
    broken: () => fail("broken"),
  },
  User: {
    friends: ({ friends }: User) => friends.map(userOf),
    best: ({ best }: User) => (best === null ? null : userOf(best)),
    reviews: ({ id }: User, { first }) => reviewsOf(({ author }) => author === id).slice(0, first ?? 99),
    credit: ({ credit }: User) => (credit < 0 ? fail("no credit") : credit),
    shop: ({ id }: User) => SHOPS.find(({ owner }) => owner === id) ?? null,
    greeting: ({ name }: User, { word }) => `${word}, ${name}`,
  },
  Product: {
    reviews: ({ upc }: Product) => reviewsOf(({ product }) => product === upc),
    shop: ({ shop }: Product) => SHOPS.find(({ id }) => id === shop) ?? null,
    related: ({ related }: Product) => related.map(productOf),
    price: ({ price }: Product, { currency }) => `${price} ${currency}`,
    label: ({ name, kind }: Product) => `${kind} ${name}`,
  },
  Review: {
    author: ({ author }: Review) => userOf(author),
    product: ({ product }: Review) => productOf(product),
    subject: ({ product, author, stars }: Review) => (stars > 3 ? productOf(product) : userOf(author)),
  },
  Shop: {
    owner: ({ owner }: Shop) => userOf(owner),
    products: ({ id }: Shop) => PRODUCTS.filter(({ shop }) => shop === id),
    open: ({ open }: Shop) => (open === null ? fail("unknown hours") : open),
  },
};

const REFERENCES: Readonly<Record<string, (key: never) => unknown>> = {
  User: ({ id }: { id: string }) => userOf(id),
  Product: ({ upc, sku }: { upc?: string; sku?: { code: string } }) =>
    PRODUCTS.find((product) => product.upc === upc || product.sku.code === sku?.code) ?? null,
  Review: ({ id }: { id: string }) => REVIEWS.find((review) => review.id === id) ?? null,
  Shop: ({ id }: { id: string }) => SHOPS.find((shop) => shop.id === id) ?? null,
};

const SDL = {
  accounts: `
    type Query { me: User users: [User!]! user(id: ID!): User nodes(ids: [ID!]!): [Node]! echo(value: Echo): String! }
    interface Node { id: ID! }
    input Echo { n: Int = 3, list: [String!], inner: Echo, kind: Kind }
    enum Kind { BOOK FILM GAME }
    type User implements Node @key(fields: "id") {
      id: ID! name: String! friends: [User]! best: User credit: Int greeting(word: String! = "Hello"): String!
    }
    type Review implements Node @key(fields: "id") { id: ID! }
  `,
  catalogue: `
    type Query {
      products(first: Int, kind: Kind): [Product!]! product(upc: ID!): Product grid: [[Product]!]! search(text: String!): [Found!]!
    }
    enum Kind { BOOK FILM GAME }
    union Found = User | Product | Review
    type Product @key(fields: "upc") @key(fields: "sku { code }") {
      upc: ID! sku: Sku! name: String! kind: Kind! related: [Product]! label: String!
    }
    type Sku { code: ID! }
    type User @key(fields: "id") { id: ID! }
    type Review @key(fields: "id") { id: ID! }
  `,
  reviews: `
    type Query { reviews(where: ReviewFilter): [Review!]! broken: Int }
    input ReviewFilter { minStars: Int = 0, authors: [ID!] }
    union Subject = User | Product
    type Review @key(fields: "id") { id: ID! stars: Int! text: String author: User! product: Product subject: Subject }
    type User @key(fields: "id") { id: ID! reviews(first: Int): [Review!]! }
    type Product @key(fields: "upc") { upc: ID! reviews: [Review!]! }
  `,
  shops: `
    type Query { shops: [Shop!]! }
    type Shop @key(fields: "id") { id: ID! title: String! owner: User products: [Product!]! open: Boolean! place: Place }
    type Place { x: Int! y: Int! }
    type User @key(fields: "id") { id: ID! shop: Shop }
    type Product @key(fields: "sku { code }") { sku: Sku! @shareable shop: Shop price(currency: String! = "USD"): String! stock: Int }
    type Sku { code: ID! @shareable }
  `,
} as const;

const SHARED = {
  ...SDL,
  catalogue: SDL.catalogue
    .replace("sku: Sku! name", "sku: Sku! @shareable name")
    .replace("type Sku { code: ID! }", "type Sku { code: ID! @shareable }"),
};

/** The market as four subgraphs. */
export const market: Readonly<Record<string, TestSubgraph>> = Object.fromEntries(
  Object.entries(SHARED).map(([name, sdl]) => [name, { sdl, resolvers: resolversIn(sdl) as never }]),
);

function resolversIn(sdl: string): object {
  const resolvers: Record<string, Record<string, unknown>> = {};
  for (const definition of parse(sdl).definitions) {
    if (definition.kind !== "ObjectTypeDefinition") continue;
    const type = definition.name.value;
    const own = RESOLVERS[type] ?? {};
    const fields = (definition.fields ?? []).flatMap(({ name }) => {
      const resolve = own[name.value];
      return resolve ? [[name.value, resolve] as const] : [];
    });
    const find = REFERENCES[type];
    resolvers[type] = { ...Object.fromEntries(fields), ...(find && { __resolveReference: find }) };
  }
  return resolvers;
}

/** The market as one schema, which graphql-js executes: its answers are the reference. */
export function monolith(api: string): GraphQLSchema {
  const schema = buildASTSchema(parse(api));
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type)) continue;
    for (const [name, resolve] of Object.entries(RESOLVERS[type.name] ?? {})) {
      const field = type.getFields()[name];
      if (field) field.resolve = resolve as never;
    }
  }
  return schema;
}
