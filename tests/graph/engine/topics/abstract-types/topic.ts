import type { Topic } from "../../support/topic.ts";

const ITEMS = [
  { __typename: "File", id: "f1", title: "a.txt" },
  { __typename: "Token", id: "t1", number: 7 },
  { __typename: "Folder", id: "d1", items: [{ __typename: "File", id: "f2", title: "b.txt" }] },
];

/** Interfaces and unions whose objects are completed by other subgraphs, by their concrete type. */
export const abstractTypes: Topic = {
  title: "abstract types",
  subgraphs: {
    items: {
      sdl: `
        type Query { items: [Item!]! found: [Found] first: Item }
        interface Item { id: ID! }
        union Found = File | Token
        type File implements Item @key(fields: "id") { id: ID! title: String! }
        type Token implements Item @key(fields: "id") { id: ID! number: Int! }
        type Folder implements Item { id: ID! items: [Item!]! }
      `,
      resolvers: {
        Query: { items: () => ITEMS, found: () => [ITEMS[0], null, ITEMS[1]], first: () => ITEMS[0] },
      },
    },
    facts: {
      sdl: `
        type File @key(fields: "id") { id: ID! sizeBytes: Int! owner: Owner! }
        type Token @key(fields: "id") { id: ID! price: String! owner: Owner! }
        union Owner = Person | Contract
        type Person { name: String! }
        type Contract { address: ID! }
      `,
      resolvers: {
        File: {
          __resolveReference: ({ id }: { id: string }) => ({
            id,
            sizeBytes: 5,
            owner: { __typename: "Person", name: `owner of ${id}` },
          }),
        },
        Token: {
          __resolveReference: ({ id }: { id: string }) => ({
            id,
            price: `price of ${id}`,
            owner: { __typename: "Contract", address: "0xc" },
          }),
        },
      },
    },
  },
  cases: [
    {
      title: "fragments on the types of an interface, each with fields from elsewhere",
      query: `{ items { id ... on File { title sizeBytes } ... on Token { number price } } }`,
      data: {
        items: [
          { id: "f1", title: "a.txt", sizeBytes: 5 },
          { id: "t1", number: 7, price: "price of t1" },
          { id: "d1" },
        ],
      },
    },
    {
      title: "__typename of an interface",
      query: `{ items { __typename } first { kind: __typename id } }`,
      data: {
        items: [{ __typename: "File" }, { __typename: "Token" }, { __typename: "Folder" }],
        first: { kind: "File", id: "f1" },
      },
    },
    {
      title: "a union with a null in its list",
      query: `{ found { ... on File { id sizeBytes } ... on Token { id } } }`,
      data: { found: [{ id: "f1", sizeBytes: 5 }, null, { id: "t1" }] },
    },
    {
      title: "a union inside an entity of another subgraph",
      query: `{ items { ... on File { owner { ...O } } ... on Token { owner { ...O } } } }
        fragment O on Owner { __typename ... on Person { name } ... on Contract { address } }`,
      data: {
        items: [
          { owner: { __typename: "Person", name: "owner of f1" } },
          { owner: { __typename: "Contract", address: "0xc" } },
          {},
        ],
      },
    },
    {
      title: "an interface inside an interface",
      query: `{ items { ... on Folder { items { id ... on File { sizeBytes } } } } }`,
      data: { items: [{}, {}, { items: [{ id: "f2", sizeBytes: 5 }] }] },
    },
    {
      title: "one alias, another field for each type",
      query: `{ items { ... on File { v: title w: sizeBytes } ... on Token { v: price x: number } } }`,
      data: { items: [{ v: "a.txt", w: 5 }, { v: "price of t1", x: 7 }, {}] },
    },
    {
      title: "a fragment on the interface inside a fragment on a type",
      query: `{ found { ... on Item { id } ... on File { ... on Item { again: id } } } }`,
      data: { found: [{ id: "f1", again: "f1" }, null, { id: "t1" }] },
    },
  ],
};
