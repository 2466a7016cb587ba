import type { Topic } from "../../support/topic.ts";

/** Inaccessible fields may be used to join, and are never shown. */
export const inaccessible: Topic = {
  title: "inaccessible",
  subgraphs: {
    users: {
      sdl: `
        type Query { user: User things: [Thing] named: [Named!]! secret: Int @inaccessible greet(name: String = "you", mood: String @inaccessible): String! }
        type User @key(fields: "internalId") { internalId: ID! @inaccessible name: String! }
        union Thing = Cup | Plan
        interface Named { name: String! }
        type Cup implements Named { name: String! }
        type Plan implements Named @inaccessible { name: String! }
      `,
      resolvers: {
        Query: {
          user: () => ({ internalId: "i1", name: "Ann" }),
          things: () => [
            { __typename: "Cup", name: "c" },
            { __typename: "Plan", name: "p" },
          ],
          named: () => [{ __typename: "Cup", name: "c" }],
          greet: (_, { name, mood }) => `${name} ${mood}`,
        },
        User: { __resolveReference: ({ internalId }: { internalId: string }) => ({ internalId }) },
      },
    },
    quotas: {
      sdl: `
        type User @key(fields: "internalId") { internalId: ID! @inaccessible quota: String! }
      `,
      resolvers: {
        User: {
          __resolveReference: ({ internalId }: { internalId: string }) => ({ quota: `of ${internalId}` }),
        },
      },
    },
  },
  cases: [
    {
      title: "a join over a hidden key",
      query: `{ user { name quota } }`,
      data: { user: { name: "Ann", quota: "of i1" } },
    },
    {
      title: "an object of a hidden type becomes null, and its type is not named",
      query: `{ things { ... on Cup { name } } }`,
      data: { things: [{ name: "c" }, null] },
      errors: [{ path: ["things", 1], code: "internal_error", message: "The value is not a known Thing." }],
    },
    {
      title: "an interface keeps its public types",
      query: `{ named { __typename name } greet }`,
      data: { named: [{ __typename: "Cup", name: "c" }], greet: "you undefined" },
    },
    {
      title: "introspection shows no hidden name",
      query: `{
        user: __type(name: "User") { fields { name } }
        query: __type(name: "Query") { fields { name args { name defaultValue } } }
        plan: __type(name: "Plan") { name }
        thing: __type(name: "Thing") { possibleTypes { name } }
        named: __type(name: "Named") { possibleTypes { name } }
      }`,
      data: {
        user: { fields: [{ name: "quota" }, { name: "name" }] },
        query: {
          fields: [
            { name: "user", args: [] },
            { name: "things", args: [] },
            { name: "named", args: [] },
            { name: "greet", args: [{ name: "name", defaultValue: '"you"' }] },
          ],
        },
        plan: null,
        thing: { possibleTypes: [{ name: "Cup" }] },
        named: { possibleTypes: [{ name: "Cup" }] },
      },
      asked: {},
    },
  ],
};
