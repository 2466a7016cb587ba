import type { Topic } from "../../support/topic.ts";

const PEOPLE = [
  { id: "1", email: "ann@a.example", name: "Ann" },
  { id: "2", email: "bob@a.example", name: "Bob" },
];
const TOKENS = [
  { contract: "0xa", tokenId: "7", owner: { __typename: "Person", email: "ann@a.example" } },
  { contract: "0xa", tokenId: "8", owner: { __typename: "Person", email: "bob@a.example" } },
  { contract: "0xb", tokenId: "7", owner: { __typename: "Person", email: "ann@a.example" } },
];

/** How entities are found in other subgraphs: one key, several keys, composite keys, nested keys. */
export const keys: Topic = {
  title: "keys",
  subgraphs: {
    people: {
      sdl: `
        type Query { people: [Person!]! person(id: ID!): Person }
        type Person @key(fields: "id") @key(fields: "email") { id: ID! email: String! name: String! }
      `,
      resolvers: {
        Query: {
          people: () => PEOPLE,
          person: (_, { id }) => PEOPLE.find((person) => person.id === id),
        },
        Person: {
          __resolveReference: ({ id, email }: { id?: string; email?: string }) =>
            PEOPLE.find((person) => person.id === id || person.email === email) ?? null,
        },
      },
    },
    tokens: {
      sdl: `
        type Query { tokens: [Token!]! }
        type Token @key(fields: "contract tokenId") { contract: String! tokenId: ID! owner: Person! }
        type Person @key(fields: "email") { email: String! tokens(first: Int): [Token!]! }
      `,
      resolvers: {
        Query: { tokens: () => TOKENS },
        Token: {
          __resolveReference: (key: { contract: string; tokenId: string }) =>
            TOKENS.find(({ contract, tokenId }) => contract === key.contract && tokenId === key.tokenId),
        },
        Person: {
          __resolveReference: ({ email }: { email: string }) => ({ email }),
          tokens: ({ email }: { email: string }, { first }: { first?: number }) =>
            TOKENS.filter(({ owner }) => owner.email === email).slice(0, first),
        },
      },
    },
    files: {
      sdl: `
        type Query { files: [File!]! lost: Person }
        type Token @key(fields: "contract tokenId") { contract: String! tokenId: ID! files: [File!]! }
        type File @key(fields: "root token { contract tokenId }") { root: ID! token: Token! }
        type Person @key(fields: "id") { id: ID! quota: Int! }
      `,
      resolvers: {
        Query: {
          files: () => [{ root: "0xf", token: { contract: "0xa", tokenId: "7" } }],
          lost: () => ({ id: "404" }),
        },
        Token: {
          __resolveReference: (token: object) => token,
          files: (token: { tokenId: string }) => [{ root: `0xf${token.tokenId}`, token }],
        },
        Person: { __resolveReference: ({ id }: { id: string }) => ({ id, quota: Number(id) * 10 }) },
      },
    },
    pins: {
      sdl: `
        type File @key(fields: "root token { contract tokenId }") {
          root: ID! token: Token! @external pinned(by: String): String!
        }
        type Token @key(fields: "contract tokenId") { contract: String! @external tokenId: ID! @external }
      `,
      resolvers: {
        File: {
          __resolveReference: (file: object) => file,
          pinned: ({ root, token }: { root: string; token: { tokenId: string } }, { by }: { by?: string }) =>
            `${root} of ${token.tokenId} by ${by}`,
        },
      },
    },
  },
  cases: [
    {
      title: "an entity is completed by its key in another subgraph",
      query: `{ person(id: "1") { name quota } }`,
      data: { person: { name: "Ann", quota: 10 } },
      asked: { people: 1, files: 1 },
    },
    {
      title: "a list of entities is one request",
      query: `{ people { name quota } }`,
      data: {
        people: [
          { name: "Ann", quota: 10 },
          { name: "Bob", quota: 20 },
        ],
      },
      asked: { people: 1, files: 1 },
    },
    {
      title: "each subgraph gets the key that it supports",
      query: `{ person(id: "2") { quota tokens { tokenId } } }`,
      data: { person: { quota: 20, tokens: [{ tokenId: "8" }] } },
    },
    {
      title: "one key leads to another: email to id",
      query: `{ tokens { owner { quota } } }`,
      data: { tokens: [{ owner: { quota: 10 } }, { owner: { quota: 20 } }, { owner: { quota: 10 } }] },
      asked: { tokens: 1, people: 1, files: 1 },
    },
    {
      title: "a key of two fields",
      query: `{ tokens { contract files { root } } }`,
      data: {
        tokens: [
          { contract: "0xa", files: [{ root: "0xf7" }] },
          { contract: "0xa", files: [{ root: "0xf8" }] },
          { contract: "0xb", files: [{ root: "0xf7" }] },
        ],
      },
    },
    {
      title: "a nested key",
      query: `{ files { pinned(by: "me") } }`,
      data: { files: [{ pinned: "0xf of 7 by me" }] },
    },
    {
      title: "four subgraphs in one operation, arguments by variables",
      query: `query ($first: Int, $by: String) {
        people { name tokens(first: $first) { tokenId files { root pinned(by: $by) } } }
      }`,
      variables: { first: 1, by: "us" },
      data: {
        people: [
          { name: "Ann", tokens: [{ tokenId: "7", files: [{ root: "0xf7", pinned: "0xf7 of 7 by us" }] }] },
          { name: "Bob", tokens: [{ tokenId: "8", files: [{ root: "0xf8", pinned: "0xf8 of 8 by us" }] }] },
        ],
      },
    },
    {
      title: "an entity that the other subgraph does not have, in a non-nullable place",
      query: `{ lost { id name } }`,
      data: { lost: null },
      errors: [{ path: ["lost", "name"], code: "internal_error" }],
    },
    {
      title: "a null entity is not fetched",
      query: `{ person(id: "none") { name quota } }`,
      data: { person: null },
      asked: { people: 1 },
    },
  ],
};
