import type { Topic } from "../../support/topic.ts";

const MODELS = [
  { id: "chat", title: "Chat", provider: { address: "0x1" } },
  { id: "draw", title: "Draw", provider: { address: "0x2" } },
  { id: "hear", title: "Hear", provider: { address: "0x1" } },
];

/** Lists, aliases, fragments, named operations: the shape of the result is the shape of the operation. */
export const selections: Topic = {
  title: "selections",
  subgraphs: {
    models: {
      sdl: `
        type Query { models: [Model!]! model(id: ID!): Model grid: [[Model!]!]! }
        type Model @key(fields: "id") { id: ID! title: String! provider: Provider! }
        type Provider @key(fields: "address") { address: ID! }
      `,
      resolvers: {
        Query: {
          models: () => MODELS,
          model: (_, { id }) => MODELS.find((model) => model.id === id),
          grid: () => [MODELS.slice(0, 2), [], MODELS.slice(2)],
        },
        Model: { __resolveReference: ({ id }: { id: string }) => MODELS.find((model) => model.id === id) },
      },
    },
    chain: {
      sdl: `
        type Provider @key(fields: "address") { address: ID! stake(unit: String = "neuron"): String! peer: Provider tags: [String!] }
      `,
      resolvers: {
        Provider: {
          __resolveReference: ({ address }: { address: string }) => ({ address }),
          stake: ({ address }: { address: string }, { unit }: { unit: string }) => `${address} ${unit}`,
          peer: ({ address }: { address: string }) => ({ address: `${address}9` }),
          tags: () => ["a", "b"],
        },
      },
    },
    stats: {
      sdl: `
        type Provider @key(fields: "address") { address: ID! uptime: Float! requests: Int! }
        type Model @key(fields: "id") { id: ID! uses: Int! }
      `,
      resolvers: {
        Provider: {
          __resolveReference: ({ address }: { address: string }) => ({ address, uptime: 0.5, requests: 3 }),
        },
        Model: { __resolveReference: ({ id }: { id: string }) => ({ id, uses: id.length }) },
      },
    },
  },
  cases: [
    {
      title: "entities that occur twice in a list are fetched once, and are complete in each place",
      query: `{ models { provider { stake tags } } }`,
      data: {
        models: [
          { provider: { stake: "0x1 neuron", tags: ["a", "b"] } },
          { provider: { stake: "0x2 neuron", tags: ["a", "b"] } },
          { provider: { stake: "0x1 neuron", tags: ["a", "b"] } },
        ],
      },
      asked: { models: 1, chain: 1 },
    },
    {
      title: "lists in lists",
      query: `{ grid { id uses provider { uptime } } }`,
      data: {
        grid: [
          [
            { id: "chat", uses: 4, provider: { uptime: 0.5 } },
            { id: "draw", uses: 4, provider: { uptime: 0.5 } },
          ],
          [],
          [{ id: "hear", uses: 4, provider: { uptime: 0.5 } }],
        ],
      },
    },
    {
      title: "the same field under two aliases, with two arguments",
      query: `{ model(id: "chat") { provider { a: stake(unit: "wei") b: stake } } }`,
      data: { model: { provider: { a: "0x1 wei", b: "0x1 neuron" } } },
    },
    {
      title: "an alias with the name of the key",
      query: `{ model(id: "chat") { id: title uses provider { address: __typename stake } } }`,
      data: { model: { id: "Chat", uses: 4, provider: { address: "Provider", stake: "0x1 neuron" } } },
    },
    {
      title: "one entity in two places, and one alias with two meanings",
      query: `{
        a: model(id: "chat") { provider { peer { v: uptime } } }
        b: model(id: "chat") { provider { peer { v: requests } } }
      }`,
      data: {
        a: { provider: { peer: { v: 0.5 } } },
        b: { provider: { peer: { v: 3 } } },
      },
    },
    {
      title: "named fragments inside named fragments",
      query: `
        query { models { ...M } }
        fragment M on Model { title provider { ...P } }
        fragment P on Provider { uptime ...Q }
        fragment Q on Provider { stake }
      `,
      data: {
        models: [
          { title: "Chat", provider: { uptime: 0.5, stake: "0x1 neuron" } },
          { title: "Draw", provider: { uptime: 0.5, stake: "0x2 neuron" } },
          { title: "Hear", provider: { uptime: 0.5, stake: "0x1 neuron" } },
        ],
      },
    },
    {
      title: "selections of one field in several places are merged",
      query: `{ model(id: "draw") { provider { stake } } ... { model(id: "draw") { title provider { requests } } } }`,
      data: { model: { provider: { stake: "0x2 neuron", requests: 3 }, title: "Draw" } },
    },
    {
      title: "an entity of a subgraph inside an entity of the same subgraph",
      query: `{ model(id: "chat") { provider { peer { stake uptime peer { address requests } } } } }`,
      data: {
        model: {
          provider: { peer: { stake: "0x19 neuron", uptime: 0.5, peer: { address: "0x199", requests: 3 } } },
        },
      },
    },
    {
      title: "one of several operations, by its name",
      query: `query One { model(id: "chat") { id } } query Two { model(id: "draw") { uses } }`,
      operationName: "Two",
      data: { model: { uses: 4 } },
    },
    {
      title: "a default of the schema and a default of a variable",
      query: `query ($unit: String = "milli") { model(id: "chat") { provider { stake(unit: $unit) } } }`,
      data: { model: { provider: { stake: "0x1 milli" } } },
    },
    {
      title: "a variable with the name of the planner's own, in the request for an entity",
      query: `query ($representations: String, $_literal: ID!) {
        model(id: $_literal) { provider { stake(unit: $representations) } }
      }`,
      variables: { representations: "wei", _literal: "chat" },
      data: { model: { provider: { stake: "0x1 wei" } } },
    },
    {
      title: "variables with the names of the planner's own, in a request for several entities",
      query: `query ($representations: String, $__batch_reps_0: String = "milli", $__batch_reps_1: Boolean!) {
        model(id: "chat") { provider { stake(unit: $representations) } }
        models { id @skip(if: $__batch_reps_1) provider { stake(unit: $__batch_reps_0) } }
      }`,
      variables: { representations: "wei", __batch_reps_1: true },
      data: {
        model: { provider: { stake: "0x1 wei" } },
        models: ["0x1", "0x2", "0x1"].map((address) => ({ provider: { stake: `${address} milli` } })),
      },
    },
    {
      title: "a null for such a variable where null is not allowed",
      query: `query ($representations: Boolean = true) { model(id: "chat") { id @include(if: $representations) } }`,
      variables: { representations: null },
      data: undefined,
      errors: [
        {
          code: "invalid_parameter",
          message: 'Variable "$representations" is null where null is not allowed.',
        },
      ],
    },
    {
      title: "__typename, plain and under an alias, at every level",
      query: `{ __typename kind: __typename model(id: "chat") { t: __typename provider { __typename stake } } }`,
      data: {
        __typename: "Query",
        kind: "Query",
        model: { t: "Model", provider: { __typename: "Provider", stake: "0x1 neuron" } },
      },
    },
  ],
};
