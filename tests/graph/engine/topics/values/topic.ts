import type { Topic } from "../../support/topic.ts";

const echo = (_: unknown, { of }: { of: unknown }) => JSON.stringify(of);

/** A value reaches its subgraph as the client wrote it, as a literal, a variable or a default. */
export const values: Topic = {
  title: "values of arguments",
  subgraphs: {
    echoes: {
      sdl: `
        scalar Big
        input Page { first: Int! = 10 after: String = "start" filter: Filter = { tag: "all" } }
        input Filter { tag: String! = "any" limit: Int }
        type Query { text(of: String): String float(of: Float): String big(of: Big): String page(of: Page): String }
      `,
      resolvers: { Query: { text: echo, float: echo, big: echo, page: echo } },
    },
  },
  cases: [
    {
      title: "escapes and control characters of a literal",
      query: String.raw`{ a: text(of: "\b\f\n\r\t\"\\\/") b: text(of: "\u0010\u0000") c: text(of: "é\u00e9\ud83d\ude00😀") }`,
      data: {
        a: JSON.stringify('\b\f\n\r\t"\\/'),
        b: JSON.stringify("\u0010\u0000"),
        c: JSON.stringify("éé😀😀"),
      },
    },
    {
      title: "a block string",
      query: `{ text(of: """\n  two\n    lines\n""") }`,
      data: { text: JSON.stringify("two\n  lines") },
    },
    {
      title: "an integer of 256 bits, alone, in a list and in an object",
      query: `{ a: big(of: ${2n ** 256n - 1n}) b: big(of: [9223372036854775808]) c: big(of: { id: -18446744073709551616 }) }`,
      data: { a: `"${2n ** 256n - 1n}"`, b: '["9223372036854775808"]', c: '{"id":"-18446744073709551616"}' },
    },
    {
      title: "a large integer beside a variable, and as the default of one",
      query: `query ($id: Big = 9223372036854775809, $list: Big = [{ id: 9223372036854775811 }], $one: Big) {
        a: big(of: $id) b: big(of: $list) c: big(of: [$one, { id: 9223372036854775813 }])
      }`,
      variables: { one: 1 },
      data: {
        a: '"9223372036854775809"',
        b: '[{"id":"9223372036854775811"}]',
        c: '[1,{"id":"9223372036854775813"}]',
      },
    },
    {
      title: "a decimal with as many digits as a double has",
      query:
        "{ a: float(of: 0.1234567890123456) b: float(of: 1e300) c: float(of: 123456789.12345679) d: float(of: 5e-324) }",
      data: { a: "0.1234567890123456", b: "1e+300", c: "123456789.12345679", d: "5e-324" },
    },
    {
      title: "a decimal beyond a double is refused before any subgraph request",
      query: "{ float(of: 1e400) }",
      data: undefined,
      errors: [{ code: "invalid_parameter" }],
      asked: {},
    },
    {
      title: "so is one within a scalar of objects",
      query: "{ big(of: [{ ratio: -1e400 }]) }",
      data: undefined,
      errors: [{ code: "invalid_parameter" }],
      asked: {},
    },
    {
      title: "an input object field with an omitted variable has its default",
      query: `query ($first: Int = 10, $after: String, $tag: String!, $limit: Int) {
        page(of: { first: $first, after: $after, filter: { tag: $tag, limit: $limit } })
      }`,
      variables: { tag: "one" },
      data: { page: '{"first":10,"after":"start","filter":{"tag":"one"}}' },
    },
    {
      title: "the defaults of an input object that is a literal, and of one that is a variable",
      query: "query ($page: Page) { a: page(of: {}) b: page(of: $page) c: page(of: { filter: {} }) }",
      variables: { page: { filter: { limit: 2 } } },
      data: {
        a: '{"first":10,"after":"start","filter":{"tag":"all"}}',
        b: '{"first":10,"after":"start","filter":{"tag":"any","limit":2}}',
        c: '{"first":10,"after":"start","filter":{"tag":"any"}}',
      },
    },
    {
      title: "null for a variable that is nullable by its default is refused where null is not allowed",
      query: 'query ($tag: String = "one") { page(of: { filter: { tag: $tag } }) }',
      variables: { tag: null },
      data: undefined,
      errors: [{ code: "invalid_parameter" }],
      asked: {},
    },
    {
      title: "so is null for a condition",
      query: 'query ($yes: Boolean = true) { a: text(of: "a") @include(if: $yes) b: text(of: "b") }',
      variables: { yes: null },
      data: undefined,
      errors: [{ code: "invalid_parameter" }],
      asked: {},
    },
  ],
};
