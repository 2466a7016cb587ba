import type { Topic } from "../../support/topic.ts";

/** Which subgraph answers a field that several define: `@shareable` and `@override`. */
export const ownership: Topic = {
  title: "shareable and override",
  subgraphs: {
    old: {
      sdl: `
        type Query { token: Token place: Place @shareable }
        type Token @key(fields: "id") { id: ID! name: String symbol: String }
        type Place @shareable { x: Int! y: Int! }
      `,
      resolvers: {
        Query: { token: () => ({ id: "1" }), place: () => ({ x: 1, y: 2 }) },
        Token: {
          __resolveReference: ({ id }: { id: string }) => ({ id }),
          name: () => "old name",
          symbol: () => "old symbol",
        },
      },
    },
    fresh: {
      sdl: `
        type Query { place: Place @shareable tokens: [Token!]! }
        type Token @key(fields: "id") { id: ID! name: String @override(from: "old") price: Int! }
        type Place @shareable { x: Int! z: Int! }
      `,
      resolvers: {
        Query: { place: () => ({ x: 1, z: 3 }), tokens: () => [{ id: "1" }] },
        Token: {
          __resolveReference: ({ id }: { id: string }) => ({ id }),
          name: () => "new name",
          price: () => 5,
        },
      },
    },
  },
  cases: [
    {
      title: "an overridden field is read from the subgraph that took it over",
      query: `{ token { name symbol } }`,
      data: { token: { name: "new name", symbol: "old symbol" } },
    },
    {
      title: "also where that subgraph is called first",
      query: `{ tokens { name price symbol } }`,
      data: { tokens: [{ name: "new name", price: 5, symbol: "old symbol" }] },
    },
    {
      title: "a shared value object is merged from both",
      query: `{ place { x y z } }`,
      data: { place: { x: 1, y: 2, z: 3 } },
      asked: { old: 1, fresh: 1 },
    },
    {
      title: "a shared field is fetched from one",
      query: `{ place { x } }`,
      data: { place: { x: 1 } },
    },
  ],
};
