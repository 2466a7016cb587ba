import { GraphQLError } from "graphql";
import type { Topic } from "../../support/topic.ts";

const failure = (message: string, code: string) => new GraphQLError(message, { extensions: { code } });

/** Errors of subgraphs, at the path where the client expects them. */
export const entityErrors: Topic = {
  title: "errors",
  subgraphs: {
    accounts: {
      sdl: `
        type Query { account: Account accounts: [Account!]! broken: Account pair: Pair node: Named }
        interface Named { id: ID! }
        type Pair { left: Account right: Account }
        type Account implements Named @key(fields: "id") { id: ID! name: String friend: Account }
      `,
      resolvers: {
        Query: {
          account: () => ({ id: "1" }),
          accounts: () => [{ id: "1" }, { id: "2" }, { id: "1" }],
          broken: () => {
            throw failure("No such account.", "not_found");
          },
          pair: () => ({ left: { id: "2" }, right: { id: "1" } }),
          node: () => ({ __typename: "Account", id: "2" }),
        },
        Account: {
          __resolveReference: (account: object) => account,
          name: () => {
            throw failure("Your key may not read names.", "insufficient_scope");
          },
          friend: () => ({ id: "3" }),
        },
      },
    },
    money: {
      sdl: `
        type Account @key(fields: "id") { id: ID! balance: String! usage: Usage holds: [Hold!] }
        type Usage { total: Int daily: [Int!] }
        type Hold @key(fields: "id") { id: ID! amount: String }
      `,
      resolvers: {
        Account: {
          async __resolveReference({ id }: { id: string }) {
            if (id === "2") throw failure("The ledger is closed.", "unavailable");
            return { id };
          },
          balance: () => {
            throw failure("No balance.", "chain_error");
          },
          usage: () => ({ total: 1 }),
          holds: () => [{ id: "h1" }, { id: "h2" }],
        },
        Usage: {
          daily: () => {
            throw new Error("boom");
          },
        },
        Hold: {
          __resolveReference: (hold: object) => hold,
          amount: ({ id }: { id: string }) => {
            if (id === "h2") throw failure("No amount.", "not_found");
            return "5";
          },
        },
      },
    },
  },
  cases: [
    {
      title: "an error of a root field keeps its path and code",
      query: `{ wrong: broken { id } account { id } }`,
      data: { wrong: null, account: { id: "1" } },
      errors: [{ path: ["wrong"], code: "not_found", message: "No such account." }],
    },
    {
      title: "an error inside an entity has the path of the entity as prefix",
      query: `{ account { id usage { total daily } } }`,
      data: { account: { id: "1", usage: { total: 1, daily: null } } },
      errors: [{ path: ["account", "usage", "daily"], code: "internal_error" }],
    },
    {
      title:
        "an entity that fails in a list does not affect the others, and has an error for each of its places",
      query: `{ accounts { id usage { total } } }`,
      data: {
        accounts: [
          { id: "1", usage: { total: 1 } },
          { id: "2", usage: null },
          { id: "1", usage: { total: 1 } },
        ],
      },
      errors: [{ path: ["accounts", 1], code: "unavailable", message: "The ledger is closed." }],
    },
    {
      title:
        "an error in an entity that occurs twice is reported for both places, and null propagates in both",
      query: `{ accounts { id usage { daily } } }`,
      data: {
        accounts: [
          { id: "1", usage: { daily: null } },
          { id: "2", usage: null },
          { id: "1", usage: { daily: null } },
        ],
      },
      errors: [
        { path: ["accounts", 0, "usage", "daily"], code: "internal_error" },
        { path: ["accounts", 2, "usage", "daily"], code: "internal_error" },
        { path: ["accounts", 1], code: "unavailable" },
      ],
    },
    {
      title: "an error of a field that is not nullable nulls its object, and is reported once",
      query: `{ account { id balance } }`,
      data: { account: null },
      errors: [{ path: ["account", "balance"], code: "chain_error" }],
    },
    {
      title: "errors of merged fetches are assigned to their own entities",
      query: `{ pair { left { usage { total } } right { usage { daily } } } }`,
      data: { pair: { left: { usage: null }, right: { usage: { daily: null } } } },
      errors: [
        { path: ["pair", "left"], code: "unavailable" },
        { path: ["pair", "right", "usage", "daily"], code: "internal_error" },
      ],
    },
    {
      title: "errors in a list inside an entity",
      query: `{ account { holds { id amount } } }`,
      data: {
        account: {
          holds: [
            { id: "h1", amount: "5" },
            { id: "h2", amount: null },
          ],
        },
      },
      errors: [{ path: ["account", "holds", 1, "amount"], code: "not_found" }],
    },
    {
      title: "an error under an alias that the planner renamed",
      query: `{ account { id: name usage { total } } }`,
      data: { account: { id: null, usage: { total: 1 } } },
      errors: [{ path: ["account", "id"], code: "insufficient_scope" }],
    },
    {
      title: "an error at an entity behind an interface",
      query: `{ node { id ... on Account { usage { total } } } }`,
      data: { node: { id: "2", usage: null } },
      errors: [{ path: ["node"], code: "unavailable" }],
    },
  ],
};
