import type { Topic } from "../../support/topic.ts";

const log: string[] = [];
const write = (entry: string) => {
  log.push(entry);
  return { id: entry };
};

const fail = () => {
  throw new Error("boom");
};

/** Mutations run one after the other, whichever subgraph they belong to. */
export const mutations: Topic = {
  title: "mutations",
  subgraphs: {
    first: {
      sdl: `
        type Query { log: [String!]! }
        type Mutation { reset: Boolean! setA(value: String!, wait: Int): Entry! failA: Entry mustA: Entry! logA: [String!]! }
        type Entry @key(fields: "id") { id: ID! }
      `,
      resolvers: {
        Query: { log: () => log },
        Mutation: {
          reset: () => log.splice(0).length >= 0,
          setA: async (_, { value, wait = 0 }: { value: string; wait?: number }) => {
            await new Promise((resolve) => setTimeout(resolve, wait));
            return write(`a${value}`);
          },
          failA: () => {
            throw new Error("boom");
          },
          mustA: fail,
          logA: () => [...log],
        },
        Entry: { __resolveReference: ({ id }: { id: string }) => ({ id }) },
      },
    },
    second: {
      sdl: `
        type Query { second: Int }
        type Mutation { setB(value: String!): Entry! logB: [String!]! }
        type Entry @key(fields: "id") { id: ID! seen: Int! unseen: Int! }
      `,
      resolvers: {
        Mutation: { setB: (_, { value }) => write(`b${value}`), logB: () => [...log] },
        Entry: {
          __resolveReference: ({ id }: { id: string }) => ({ id }),
          seen: () => log.length,
          unseen: () => fail(),
        },
      },
    },
  },
  cases: [
    {
      title: "in the order of the operation, across subgraphs, also when one is slow",
      query: `mutation { reset one: setA(value: "1", wait: 50) { id } two: setB(value: "2") { id } three: setA(value: "3") { id } logB }`,
      data: {
        reset: true,
        one: { id: "a1" },
        two: { id: "b2" },
        three: { id: "a3" },
        logB: ["a1", "b2", "a3"],
      },
    },
    {
      title: "the result of a mutation is complete before the next one runs",
      query: `mutation { reset one: setA(value: "1") { id seen } two: setB(value: "2") { id } }`,
      data: { reset: true, one: { id: "a1", seen: 1 }, two: { id: "b2" } },
    },
    {
      title: "a failed mutation does not prevent the next",
      query: `mutation { reset failA { id } two: setB(value: "2") { id seen } logA }`,
      data: { reset: true, failA: null, two: { id: "b2", seen: 1 }, logA: ["b2"] },
      errors: [{ path: ["failA"], code: "internal_error" }],
    },
    {
      title: "a failed mutation that is not nullable prevents the next, in another subgraph too",
      query: `mutation { reset mustA { id } two: setB(value: "2") { id } }`,
      data: null,
      errors: [{ path: ["mustA"], code: "internal_error", message: "boom" }],
      asked: { first: 1 },
    },
    {
      title: "so does one whose subgraph is unreachable",
      query: `mutation { two: setB(value: "2") { id } three: setA(value: "3") { id } }`,
      down: ["second"],
      data: null,
      errors: [{ path: ["two"], code: "unavailable" }],
      asked: {},
    },
    {
      title: "so does one that another subgraph fails to complete, and its error is the only one",
      query: `mutation { reset one: setA(value: "1") { id unseen seen } two: setB(value: "2") { id } }`,
      data: null,
      errors: [{ path: ["one", "unseen"], code: "internal_error", message: "boom" }],
      asked: { first: 1, second: 1 },
    },
    {
      title: "only __typename",
      query: `mutation { __typename }`,
      data: { __typename: "Mutation" },
      asked: {},
    },
  ],
};
