import type { Topic } from "../../support/topic.ts";

/** A subgraph that adds fields to an interface without knowing its types (`@interfaceObject`). */
export const interfaceObjects: Topic = {
  title: "interface objects",
  subgraphs: {
    media: {
      sdl: `
        type Query { media: [Media!]! }
        interface Media @key(fields: "id") { id: ID! title: String! }
        type Film implements Media @key(fields: "id") { id: ID! title: String! minutes: Int! }
        type Song implements Media @key(fields: "id") { id: ID! title: String! }
      `,
      resolvers: {
        Query: {
          media: () => [
            { __typename: "Film", id: "1", title: "Heat", minutes: 170 },
            { __typename: "Song", id: "2", title: "Help" },
          ],
        },
        Media: {
          __resolveReference: ({ id }: { id: string }) =>
            id === "1"
              ? { __typename: "Film", id, title: "Heat", minutes: 170 }
              : { __typename: "Song", id, title: "Help" },
        },
        Film: { __resolveReference: ({ id }: { id: string }) => ({ id, title: "Heat", minutes: 170 }) },
        Song: { __resolveReference: ({ id }: { id: string }) => ({ id, title: "Help" }) },
      },
    },
    reviews: {
      sdl: `
        type Query { reviewed: [Media!]! }
        type Media @key(fields: "id") @interfaceObject { id: ID! stars: Int! }
      `,
      resolvers: {
        Query: { reviewed: () => [{ id: "2", stars: 4 }] },
        Media: { __resolveReference: ({ id }: { id: string }) => ({ id, stars: Number(id) * 2 }) },
      },
    },
  },
  cases: [
    {
      title: "a field of the interface comes from the interface object",
      query: `{ media { title stars } }`,
      data: {
        media: [
          { title: "Heat", stars: 2 },
          { title: "Help", stars: 4 },
        ],
      },
    },
    {
      title: "the field inside a fragment on one type",
      query: `{ media { id ... on Film { minutes stars } } }`,
      data: { media: [{ id: "1", minutes: 170, stars: 2 }, { id: "2" }] },
    },
    {
      title: "from the interface object to the real types",
      query: `{ reviewed { __typename stars title } }`,
      data: { reviewed: [{ __typename: "Song", stars: 4, title: "Help" }] },
    },
    {
      title: "fields of the interface object alone need no type lookup",
      query: `{ reviewed { id stars } }`,
      data: { reviewed: [{ id: "2", stars: 4 }] },
      asked: { reviews: 1 },
    },
  ],
};
