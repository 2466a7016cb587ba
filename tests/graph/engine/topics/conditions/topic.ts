import type { Topic } from "../../support/topic.ts";

/** `@skip` and `@include`, on fields and fragments, in one subgraph and across. */
export const conditions: Topic = {
  title: "skip and include",
  subgraphs: {
    files: {
      sdl: `
        type Query { file: File! other: Int! }
        type File @key(fields: "root") { root: ID! name: String! }
      `,
      resolvers: {
        Query: { file: () => ({ root: "0x1", name: "a.txt" }), other: () => 1 },
        File: { __resolveReference: ({ root }: { root: string }) => ({ root, name: "a.txt" }) },
      },
    },
    nodes: {
      sdl: `
        type File @key(fields: "root") { root: ID! copies: Int! proof: Proof! }
        type Proof { path: [String!]! }
      `,
      resolvers: {
        File: {
          __resolveReference: ({ root }: { root: string }) => ({ root, copies: 3, proof: { path: ["p"] } }),
        },
      },
    },
  },
  cases: [
    {
      title: "a skipped field of another subgraph is not fetched",
      query: `query ($skip: Boolean!) { file { name copies @skip(if: $skip) } }`,
      variables: { skip: true },
      data: { file: { name: "a.txt" } },
      asked: { files: 1 },
    },
    {
      title: "the same operation with the field",
      query: `query ($skip: Boolean!) { file { name copies @skip(if: $skip) } }`,
      variables: { skip: false },
      data: { file: { name: "a.txt", copies: 3 } },
      asked: { files: 1, nodes: 1 },
    },
    {
      title: "@include on fragments, with a default",
      query: `query ($more: Boolean! = true) { file { ... @include(if: $more) { copies } ...F @skip(if: $more) } }
        fragment F on File { name }`,
      data: { file: { copies: 3 } },
    },
    {
      title: "both directives on one field",
      query: `query ($a: Boolean!, $b: Boolean!) { file { name @include(if: $a) @skip(if: $b) root } }`,
      variables: { a: true, b: true },
      data: { file: { root: "0x1" } },
    },
    {
      title: "one key selected twice: with and without a condition",
      query: `query ($a: Boolean!) { file { proof @include(if: $a) { path } copies @include(if: $a) copies } }`,
      variables: { a: false },
      data: { file: { copies: 3 } },
    },
    {
      title: "a condition on one of two selections of an object applies to the fields of that selection",
      query: `query ($a: Boolean!) { file @include(if: $a) { name } file { root } }`,
      variables: { a: false },
      data: { file: { root: "0x1" } },
    },
    {
      title: "literal conditions",
      query: `{ file @skip(if: true) { root } other @include(if: true) }`,
      data: { other: 1 },
    },
    {
      title: "a literal condition that excludes the whole operation",
      query: `{ file @include(if: false) { root } }`,
      data: {},
      asked: {},
    },
    {
      title: "everything skipped",
      query: `query ($a: Boolean!) { file @skip(if: $a) { root copies } }`,
      variables: { a: true },
      data: {},
    },
  ],
};
