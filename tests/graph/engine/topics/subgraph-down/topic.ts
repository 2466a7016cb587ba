import type { Topic } from "../../support/topic.ts";

const UNREACHABLE = "The uptime subgraph cannot be reached.";

/** An unreachable subgraph costs its own fields, and no others. */
export const subgraphDown: Topic = {
  title: "subgraph down",
  subgraphs: {
    providers: {
      sdl: `
        type Query { provider: Provider providers: [Provider!]! must: Provider! }
        type Mutation { register: Provider }
        type Provider @key(fields: "address") { address: ID! }
      `,
      resolvers: {
        Query: {
          provider: () => ({ address: "0x1" }),
          providers: () => [{ address: "0x1" }, { address: "0x2" }],
          must: () => ({ address: "0x1" }),
        },
        Mutation: { register: () => ({ address: "0x3" }) },
        Provider: { __resolveReference: ({ address }: { address: string }) => ({ address }) },
      },
    },
    uptime: {
      sdl: `
        type Query { monitors: [String!] checks: Int! @shareable }
        type Provider @key(fields: "address") { address: ID! uptime: Float state: String! }
      `,
      resolvers: {
        Query: { monitors: () => ["a"], checks: () => 1 },
        Provider: {
          __resolveReference: ({ address }: { address: string }) => ({ address, uptime: 1, state: "up" }),
        },
      },
    },
    prices: {
      sdl: `
        type Provider @key(fields: "address") { address: ID! price: Int! }
      `,
      resolvers: {
        Provider: { __resolveReference: ({ address }: { address: string }) => ({ address, price: 3 }) },
      },
    },
  },
  cases: [
    {
      title: "a nullable field is null, other subgraphs are served",
      query: `{ provider { address uptime price } }`,
      down: ["uptime"],
      data: { provider: { address: "0x1", uptime: null, price: 3 } },
      errors: [{ path: ["provider"], code: "unavailable", message: UNREACHABLE }],
    },
    {
      title: "every affected entity of a list has its error",
      query: `{ providers { price uptime } }`,
      down: ["uptime"],
      data: {
        providers: [
          { price: 3, uptime: null },
          { price: 3, uptime: null },
        ],
      },
      errors: [
        { path: ["providers", 0], code: "unavailable", message: UNREACHABLE },
        { path: ["providers", 1], code: "unavailable", message: UNREACHABLE },
      ],
    },
    {
      title: "a field that is not nullable nulls only its object",
      query: `{ provider { state } other: provider { price } }`,
      down: ["uptime"],
      data: { provider: null, other: { price: 3 } },
      errors: [{ path: ["provider"], code: "unavailable" }],
    },
    {
      title: "it nulls everything where no place is nullable",
      query: `{ must { state } }`,
      down: ["uptime"],
      data: null,
      errors: [{ path: ["must"], code: "unavailable" }],
    },
    {
      title: "root fields have an error each, beside those of others",
      query: `query ($no: Boolean!) { mine: monitors skipped: monitors @include(if: $no) provider { price } }`,
      variables: { no: false },
      down: ["uptime"],
      data: { mine: null, provider: { price: 3 } },
      errors: [{ path: ["mine"], code: "unavailable", message: UNREACHABLE }],
    },
    {
      title: "two subgraphs down",
      query: `{ provider { uptime } }`,
      down: ["uptime", "providers"],
      data: { provider: null },
      errors: [
        { path: ["provider"], code: "unavailable", message: "The providers subgraph cannot be reached." },
      ],
    },
    {
      title: "a mutation whose result cannot be completed",
      query: `mutation { register { address uptime } }`,
      down: ["uptime"],
      data: { register: { address: "0x3", uptime: null } },
      errors: [{ path: ["register"], code: "unavailable" }],
    },
  ],
};
