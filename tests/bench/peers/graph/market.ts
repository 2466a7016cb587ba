import { buildSubgraphSchema, type GraphQLResolverMap } from "@apollo/subgraph";
import { type GraphQLSchema, parse } from "graphql";
import { composeSupergraph } from "../../../../scripts/compose.ts";
import { FEDERATION_LINK } from "../../../../subgraphs/shared/schema/build-subgraph.ts";

/** A shop of four subgraphs, as common in gateway benchmarks, with data in memory. */
const USERS = Array.from({ length: 50 }, (_, n) => ({
  id: `u${n}`,
  name: `User ${n}`,
  email: `user-${n}@example.com`,
  country: ["AT", "KE", "PE"][n % 3],
}));
const PRODUCTS = Array.from({ length: 100 }, (_, n) => ({
  upc: `p${n}`,
  name: `Product ${n}`,
  price: 100 + n,
  weight: n % 7,
}));
const REVIEWS = Array.from({ length: 300 }, (_, n) => ({
  id: `r${n}`,
  stars: (n % 5) + 1,
  text: `Review ${n} says what a review says`,
  author: { id: `u${(n * 7) % USERS.length}` },
  product: { upc: `p${n % PRODUCTS.length}` },
}));

const users = new Map(USERS.map((user) => [user.id, user]));
const products = new Map(PRODUCTS.map((product) => [product.upc, product]));
const reviewsOf = Map.groupBy(REVIEWS, ({ product }) => product.upc);

type Key = { readonly id: string; readonly upc: string };

const SUBGRAPHS: Readonly<Record<string, { readonly sdl: string; readonly resolvers: object }>> = {
  accounts: {
    sdl: `
      type Query { users(first: Int!): [User!]! }
      type User @key(fields: "id") { id: ID! name: String! email: String! country: String }
    `,
    resolvers: {
      Query: { users: (_: unknown, { first }: { first: number }) => USERS.slice(0, first) },
      User: { __resolveReference: ({ id }: Key) => users.get(id) },
    },
  },
  catalogue: {
    sdl: `
      type Query { topProducts(first: Int!): [Product!]! }
      type Product @key(fields: "upc") { upc: ID! name: String! price: Int! weight: Int! }
    `,
    resolvers: {
      Query: { topProducts: (_: unknown, { first }: { first: number }) => PRODUCTS.slice(0, first) },
      Product: { __resolveReference: ({ upc }: Key) => products.get(upc) },
    },
  },
  reviews: {
    sdl: `
      type Review @key(fields: "id") { id: ID! stars: Int! text: String author: User! product: Product! }
      type Product @key(fields: "upc") { upc: ID! reviews: [Review!]! }
      type User @key(fields: "id") { id: ID! }
    `,
    resolvers: { Product: { reviews: ({ upc }: Key) => reviewsOf.get(upc) ?? [] } },
  },
  stock: {
    sdl: `
      type Product @key(fields: "upc") { upc: ID! inStock: Boolean! places: Int }
    `,
    resolvers: {
      Product: {
        inStock: ({ upc }: Key) => upc.length > 2,
        places: ({ upc }: Key) => (upc.endsWith("3") ? null : upc.length),
      },
    },
  },
};

/** The operations: the name of each says what it measures. */
export const MARKET_OPERATIONS: Readonly<Record<string, string>> = {
  "flat, one subgraph": "query Flat { users(first: 10) { id name email country } }",
  "nested, four subgraphs with entity batches": `query Nested {
    topProducts(first: 5) {
      upc name price inStock
      reviews { id stars text author { id name country } product { upc name } }
    }
  }`,
  "list of 100 entities":
    "query List { topProducts(first: 100) { upc name inStock places reviews { stars } } }",
};

/** A subgraph that answers, and its SDL for composition. */
export type MarketSubgraph = { readonly name: string; readonly sdl: string; readonly schema: GraphQLSchema };

/** The subgraphs of the market. */
export function marketSubgraphs(): readonly MarketSubgraph[] {
  return Object.entries(SUBGRAPHS).map(([name, { sdl, resolvers }]) => {
    const text = FEDERATION_LINK + sdl;
    const schema = buildSubgraphSchema([
      { typeDefs: parse(text), resolvers: resolvers as GraphQLResolverMap },
    ]);
    return { name, sdl: text, schema };
  });
}

const OWNERS: Readonly<Record<string, string>> = {
  User: "accounts",
  Product: "catalogue",
  Review: "reviews",
};

/** The schema of a subgraph in Federation 1: subgraphs that do not own an entity extend it. */
export function federation1Sdl(subgraph: string): string {
  const sdl = SUBGRAPHS[subgraph]?.sdl ?? "";
  return sdl
    .replace("type Query", "extend type Query")
    .replaceAll(/type (\w+) (@key\(.*?\)) \{ (\w+): ID!/g, (entity, type, key, field) =>
      OWNERS[type] === subgraph ? entity : `extend type ${type} ${key} { ${field}: ID! @external`,
    );
}

/** Its supergraph; `urls` has the address of each subgraph. */
export function marketSupergraph(urls: Readonly<Record<string, string>> = {}): string {
  return composeSupergraph(
    marketSubgraphs().map(({ name, sdl }) => ({ name, sdl, ...(urls[name] && { url: urls[name] }) })),
  );
}
