import type { Topic } from "../../support/topic.ts";

/** Nulls propagate to the nearest nullable place, and enums and scalars pass unchanged. */
export const nulls: Topic = {
  title: "nulls and leaf values",
  subgraphs: {
    jobs: {
      sdl: `
        scalar Neuron
        type Query { jobs: [Job!] job: Job strict: Job! maybe: [Job] state(of: State = DONE): State states(of: [State!]!): [State!]! }
        enum State { DONE OPEN @inaccessible FAILED }
        type Job @key(fields: "id") { id: ID! state: State cost: Neuron meta: Neuron }
      `,
      resolvers: {
        Query: {
          jobs: () => [{ id: "1", state: "DONE" }, { id: "2" }],
          job: () => ({ id: "1", state: "OPEN", cost: "123456789012345678901234567890", meta: { a: [1] } }),
          strict: () => ({ id: "2" }),
          maybe: () => [{ id: "1" }, { id: "2" }],
          state: (_, { of }) => of,
          states: (_, { of }) => of,
        },
        Job: { __resolveReference: ({ id }: { id: string }) => ({ id }) },
      },
    },
    results: {
      sdl: `
        type Job @key(fields: "id") { id: ID! url: String! note: String notes: [String!] }
      `,
      resolvers: {
        Job: {
          __resolveReference: ({ id }: { id: string }) =>
            id === "1" ? { id, url: "http://1", note: "ok", notes: ["n"] } : null,
        },
      },
    },
  },
  cases: [
    {
      title: "a null in a non-nullable place nulls the item, and the list of non-null items",
      query: `{ jobs { id url } }`,
      data: { jobs: null },
      errors: [
        {
          path: ["jobs", 1, "url"],
          code: "internal_error",
          message: "Cannot return null for non-nullable field Job.url.",
        },
      ],
    },
    {
      title: "it nulls only the item where the list may hold nulls",
      query: `{ maybe { id url } }`,
      data: { maybe: [{ id: "1", url: "http://1" }, null] },
      errors: [{ path: ["maybe", 1, "url"], code: "internal_error" }],
    },
    {
      title: "it nulls everything where no place is nullable",
      query: `{ job { id } strict { url } }`,
      data: null,
      errors: [{ path: ["strict", "url"], code: "internal_error" }],
    },
    {
      title: "a null in a nullable place is not an error",
      query: `{ jobs { note notes } }`,
      data: {
        jobs: [
          { note: "ok", notes: ["n"] },
          { note: null, notes: null },
        ],
      },
    },
    {
      title: "custom scalars pass unchanged, objects included",
      query: `{ job { cost meta } }`,
      data: { job: { cost: "123456789012345678901234567890", meta: { a: [1] } } },
    },
    {
      title: "an enum value that is not public becomes null, and is not named",
      query: `{ job { id state } }`,
      data: { job: { id: "1", state: null } },
      errors: [
        {
          path: ["job", "state"],
          code: "internal_error",
          message: "Enum State cannot represent this value.",
        },
      ],
    },
    {
      title: "enums as arguments and variables",
      query: `query ($of: State) { a: state b: state(of: $of) c: state(of: FAILED) states(of: [DONE, FAILED]) }`,
      variables: { of: "FAILED" },
      data: { a: "DONE", b: "FAILED", c: "FAILED", states: ["DONE", "FAILED"] },
    },
    {
      title: "variables that do not fit are refused before any subgraph request",
      query: `query ($of: State) { state(of: $of) }`,
      variables: { of: "OPEN" },
      data: undefined,
      errors: [{ code: "invalid_parameter" }],
      asked: {},
    },
  ],
};
