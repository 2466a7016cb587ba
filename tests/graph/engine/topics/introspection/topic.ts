import type { Topic } from "../../support/topic.ts";

/** The public schema, answered by the engine itself, alone or beside data. */
export const introspection: Topic = {
  title: "introspection",
  subgraphs: {
    one: {
      sdl: `
        "Where it begins."
        type Query { thing(id: ID = "x"): Thing old: Int @deprecated(reason: "use thing") hidden: Int @inaccessible }
        "A thing."
        type Thing @key(fields: "id") @tag(name: "public") { "Its id." id: ID! }
        scalar Url @specifiedBy(url: "https://url.spec.whatwg.org")
        input Filter @oneOf { a: Int b: Url }
      `,
      resolvers: { Query: { thing: (_, { id }) => ({ id }), old: () => 1 } },
    },
    two: {
      sdl: `
        type Thing @key(fields: "id") { id: ID! name: String! @authenticated cost(filter: Int): Int @cost(weight: 3) many(first: Int): [Int!] @listSize(slicingArguments: ["first"]) scoped: Int @requiresScopes(scopes: [["read"]]) }
      `,
      resolvers: {
        Thing: { __resolveReference: ({ id }: { id: string }) => ({ id, name: `name of ${id}` }) },
      },
    },
  },
  cases: [
    {
      title: "beside data, inside fragments",
      query: `query ($id: ID!) { ...R thing(id: $id) { name } __typename }
        fragment R on Query { __type(name: "Thing") { name description } again: thing { id } }`,
      variables: { id: "7" },
      data: {
        __type: { name: "Thing", description: "A thing." },
        again: { id: "x" },
        thing: { name: "name of 7" },
        __typename: "Query",
      },
    },
    {
      title: "under an alias that begins as those of data do within the engine",
      query: `{ _alias_one: __schema { queryType { name } } one: thing { name } _alias_two: __typename two: old }`,
      data: {
        _alias_one: { queryType: { name: "Query" } },
        one: { name: "name of x" },
        _alias_two: "Query",
        two: 1,
      },
    },
    {
      title: "alone, with a variable, without a subgraph request",
      query: `query ($name: String!, $no: Boolean!) { __type(name: $name) { kind } __schema @include(if: $no) { description } }`,
      variables: { name: "Query", no: false },
      data: { __type: { kind: "OBJECT" } },
      asked: {},
    },
    {
      title: "directives and types of the federation are not public",
      query: `{ __schema { directives { name } types { name } queryType { name description } mutationType { name } } }`,
      data: {
        __schema: {
          directives: [
            { name: "oneOf" },
            { name: "defer" },
            { name: "stream" },
            { name: "include" },
            { name: "skip" },
            { name: "deprecated" },
            { name: "specifiedBy" },
          ],
          types: [
            "Url",
            "Query",
            "ID",
            "Int",
            "Thing",
            "String",
            "Filter",
            "Boolean",
            "__Schema",
            "__Type",
            "__TypeKind",
            "__Field",
            "__InputValue",
            "__EnumValue",
            "__Directive",
            "__DirectiveLocation",
          ].map((name) => ({ name })),
          queryType: { name: "Query", description: "Where it begins." },
          mutationType: null,
        },
      },
    },
    {
      title: "descriptions, deprecations, defaults, oneOf and specifiedBy are preserved",
      query: `{
        query: __type(name: "Query") { fields(includeDeprecated: true) { name isDeprecated deprecationReason args { defaultValue } } }
        thing: __type(name: "Thing") { fields { name description } }
        url: __type(name: "Url") { specifiedByURL }
        filter: __type(name: "Filter") { isOneOf }
      }`,
      data: {
        query: {
          fields: [
            { name: "thing", isDeprecated: false, deprecationReason: null, args: [{ defaultValue: '"x"' }] },
            { name: "old", isDeprecated: true, deprecationReason: "use thing", args: [] },
          ],
        },
        thing: {
          fields: [
            { name: "id", description: "Its id." },
            { name: "name", description: null },
            { name: "cost", description: null },
            { name: "many", description: null },
            { name: "scoped", description: null },
          ],
        },
        url: { specifiedByURL: "https://url.spec.whatwg.org" },
        filter: { isOneOf: true },
      },
    },
  ],
};
