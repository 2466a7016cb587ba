import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildSchema, type GraphQLError, getIntrospectionQuery } from "graphql";
import { afterAll, describe, expect, test } from "vitest";
import {
  createPolicy,
  type OperationPayload,
  type Policy,
} from "../../../gateway/federation/policy/policy.ts";
import { readTrustedDocuments } from "../../../gateway/federation/policy/trusted-documents.ts";
import { GRAPH_LIMITS, graphLimits } from "../../../src/graph-limits.ts";
import { timeTurn } from "../../support/attack/event-loop.ts";

const SDL = `
  directive @cost(weight: Int!) on ARGUMENT_DEFINITION | FIELD_DEFINITION | OBJECT | SCALAR | ENUM | INPUT_FIELD_DEFINITION
  directive @listSize(assumedSize: Int, slicingArguments: [String!], sizedFields: [String!]) on FIELD_DEFINITION
  type Query {
    node: Node
    plain(text: String, other: String): String
    list: [Node!]!
    matrix: [[Node!]!]!
    twenty: [Node!]! @listSize(assumedSize: 20)
    page(first: Int = 20, input: PageInput): NodePage @listSize(slicingArguments: ["first", "input.first"], sizedFields: ["nodes"])
    dear: Node @cost(weight: 500)
    heavy(filter: Filter @cost(weight: 7)): Node
    precious: Precious
    thing: Thing
  }
  type Mutation { act: Node }
  input PageInput { first: Int }
  input Filter { text: String @cost(weight: 30), inner: Filter }
  interface Thing { id: ID! }
  type Node implements Thing { id: ID! name: String node: Node nodes: [Node!]! }
  type NodePage { nodes: [Node!]! total: Int }
  type Precious @cost(weight: 100) { id: ID! }
`;

function policyWith(options: Partial<Parameters<typeof createPolicy>[0]> = {}): Policy {
  return createPolicy({
    schema: buildSchema(SDL),
    supergraph: SDL,
    limits: GRAPH_LIMITS,
    introspection: true,
    ...options,
  });
}

const policy = policyWith();

function refusals(payload: OperationPayload, by = policy): readonly GraphQLError[] {
  const verdict = by.admit(payload);
  return "document" in verdict ? [] : verdict;
}

/** The limits that an operation exceeds. */
const limitsOver = (query: string, variables = {}) =>
  refusals({ query, variables }).map(({ extensions }) => extensions.limit ?? extensions.code);

const nested = (levels: number) => `${"{ node ".repeat(levels)}{ id }${" }".repeat(levels)}`;
const times = (count: number, text: (n: number) => string) =>
  Array.from({ length: count }, (_, n) => text(n)).join(" ");
/** Every fragment spreads the next one twice. */
const bomb = (levels: number) =>
  `{ node { ...f0 } } ${times(levels, (n) => `fragment f${n} on Node { ...f${n + 1} ...f${n + 1} }`)} fragment f${levels} on Node { id }`;

describe("each limit admits what reaches it, and refuses by its name what exceeds it by one", () => {
  test.each([
    ["depth", nested(9), nested(10)],
    [
      "aliases",
      `{ ${times(1, () => "plain")} node { ${times(15, (n) => `a${n}: id`)} } }`,
      `{ node { ${times(16, (n) => `a${n}: id`)} } }`,
    ],
    ["rootFields", `{ ${times(10, (n) => `a${n}: plain`)} }`, `{ ${times(11, (n) => `a${n}: plain`)} }`],
    [
      "directives",
      `{ node { ${times(20, () => "id @include(if: true)")} } }`,
      `{ node { ${times(21, () => "id @include(if: true)")} } }`,
    ],
    ["repeats", `{ node { ${times(50, () => "id")} } }`, `{ node { ${times(51, () => "id")} } }`],
    [
      "variables",
      `query (${times(20, (n) => `$a${n}: Int`)}) { ${times(10, (n) => `p${n}: plain(text: $a${n * 2}, other: $a${n * 2 + 1})`)} }`.replaceAll(
        "Int",
        "String",
      ),
      `query (${times(101, (n) => `$a${n}: Int`)}) { plain }`,
    ],
    ["documentBytes", `{ plain ${"#".repeat(65_000)}\n}`, `{ plain ${"#".repeat(65_536)}\n}`],
    ["textBytes", `{ plain(text: "${"x".repeat(4_096)}") }`, `{ plain(text: "${"x".repeat(4_097)}") }`],
    ["tokens", `{ plain ${"#".repeat(3_000)}\n}`, `{ ${times(1_999, () => "a")} }`],
  ])("%s", (limit, good, bad) => {
    expect(limitsOver(good)).toEqual([]);
    expect(limitsOver(bad)).toContain(limit);
  });

  test("fields, however few of them are written", () => {
    expect(limitsOver(bomb(10))).toEqual([]);
    expect(limitsOver(bomb(11))).toEqual(["fields"]);
  });

  test("introspection may be as deep as types are wrapped, and no deeper", () => {
    expect(limitsOver(getIntrospectionQuery())).toEqual([]);
    const deep = `{ __type(name: "Node") { ${"ofType { ".repeat(20)} name ${"} ".repeat(20)} } }`;
    expect(limitsOver(deep)).toContain("introspectionDepth");
  });

  test("fields in fragments count as if they were written out", () => {
    const spread = `{ node { ...a } } fragment a on Node { ...b } fragment b on Node { ${times(16, (n) => `a${n}: id`)} }`;
    expect(limitsOver(spread)).toEqual(["aliases"]);
    const deep = `{ ...q } fragment q on Query ${nested(10)}`;
    expect(limitsOver(deep)).toEqual(["depth"]);
    expect(limitsOver(`{ ... on Query { ${times(11, (n) => `a${n}: plain`)} } }`)).toEqual(["rootFields"]);
  });

  test("limits set by the operator replace the defaults", () => {
    const limits = graphLimits.parse("depth=3, cost=5");
    expect(limits).toEqual({ ...GRAPH_LIMITS, depth: 3, cost: 5 });
    const strict = policyWith({ limits });
    expect(refusals({ query: nested(3) }, strict)[0]?.extensions).toMatchObject({ limit: "depth", most: 3 });
    expect(refusals({ query: "{ list { id } }" }, strict)).toEqual([]);
    expect(graphLimits.safeParse("depth=0").success).toBe(false);
    expect(graphLimits.safeParse("width=3").success).toBe(false);
  });
});

describe("the cost of an operation, before any subgraph request", () => {
  /** The cost is the lowest limit under which it passes. */
  const costOf = (query: string, variables = {}) => {
    const free = policyWith({ limits: { ...GRAPH_LIMITS, cost: 0 } });
    const [refusal] = refusals({ query, variables }, free);
    return Number(/it has (\d+)/.exec(refusal?.message ?? "it has 0")?.[1]);
  };
  test.each([
    ["a leaf is free", "{ plain }", {}, 0],
    ["an object is 1", "{ node { id node { id } } }", {}, 2],
    ["a mutation is 10, each", "mutation { act { id } again: act { id } }", {}, 22],
    ["a list of unknown length is 5 of its items", "{ list { id node { id } } }", {}, 10],
    ["so is each nested list", "{ matrix { id } }", {}, 25],
    ["a list whose length is assumed", "{ twenty { id } }", {}, 20],
    ["a page is as long as requested", "{ page(first: 7) { total nodes { id node { id } } } }", {}, 15],
    ["by a variable", "query ($n: Int) { page(first: $n) { nodes { id } } }", { n: 30 }, 31],
    ["by a variable's default", "query ($n: Int = 40) { page(first: $n) { nodes { id } } }", {}, 41],
    [
      "by a member of an input",
      "query ($i: PageInput) { page(input: $i) { nodes { id } } }",
      { i: { first: 50 } },
      51,
    ],
    ["by the argument's default", "{ page { nodes { id } } }", {}, 21],
    ["a field with its own cost", "{ dear { id } }", {}, 500],
    ["a type with its own cost", "{ precious { id } }", {}, 100],
    [
      "arguments and input members with their own cost",
      '{ heavy(filter: { text: "", inner: { text: "" } }) { id } }',
      {},
      68,
    ],
    ["fragments count where they are spread", "{ list { ...a } } fragment a on Node { node { id } }", {}, 10],
    ["and on every type", "{ thing { id ... on Node { node { id } } } }", {}, 2],
  ])("%s", (_, query, variables, cost) => {
    expect(costOf(query, variables)).toBe(cost);
  });

  test("an operation at the limit passes, and one above it does not", () => {
    expect(limitsOver("query ($n: Int) { page(first: $n) { nodes { id } } }", { n: 999 })).toEqual([]);
    expect(limitsOver("query ($n: Int) { page(first: $n) { nodes { id } } }", { n: 1_000 })).toEqual([
      "cost",
    ]);
    expect(limitsOver("{ list { nodes { nodes { nodes { nodes { id } } } } } }")).toEqual(["cost"]);
  });
});

describe("pathological documents are refused within 50 ms", () => {
  test.each([
    ["a fragment bomb", bomb(200)],
    ["one field again and again", `{ node { ${times(1_900, () => "id")} } }`],
    ["one field again and again in fragments", `{ node { ${times(480, () => "... { id }")} } }`],
    ["the deepest nesting that fits", `{ ${times(990, () => "node {").slice(0, -1)} } ${" }".repeat(990)}`],
    ["many aliases", `{ ${times(600, (n) => `a${n}: plain`)} }`],
    ["many directives", `{ plain ${times(900, () => "@a")} }`],
    [
      "many fragments that spread each other",
      times(90, (n) => `fragment f${n} on Node { ...f${(n + 1) % 90} id }`),
    ],
    ["many tokens", `{ ${times(100_000, () => "a")} }`],
    ["a cycle of fragments", "{ node { ...a } } fragment a on Node { ...b } fragment b on Node { ...a }"],
  ])("%s", (_, query) => {
    // The minimum of three: a garbage collection is not the policy's time.
    const tries = [1, 2, 3].map(() => timeTurn(() => refusals({ query })));
    const found = tries.flatMap((one) => one.result);
    const ms = Math.min(...tries.map((one) => one.ms));
    expect(found.length).toBeGreaterThan(0);
    for (const { extensions } of found)
      expect(extensions.code).toMatch(/^(graphql_refused|GRAPHQL_(PARSE|VALIDATION)_FAILED)$/);
    expect(ms).toBeLessThan(50);
  });
});

describe("a cycle of fragments", () => {
  test.each([
    [
      "names its fragments and places",
      "{ node { ...a } } fragment a on Node { ...b } fragment b on Node { ...a }",
    ],
    [
      "also of fragments that are not used",
      "{ plain } fragment a on Node { ...b } fragment b on Node { ...a }",
    ],
  ])("%s", (_, query) => {
    const [fault, ...others] = refusals({ query });
    expect(others).toEqual([]);
    expect(fault?.toJSON()).toEqual({
      message: 'Cannot spread fragment "a" within itself via "b".',
      locations: [query.indexOf("...b"), query.lastIndexOf("...a")].map((at) => ({
        line: 1,
        column: at + 1,
      })),
      extensions: { code: "GRAPHQL_VALIDATION_FAILED" },
    });
  });

  test("is refused in the second of two fragments of one name", () => {
    const query = "{ node { ...a } } fragment a on Node { id } fragment a on Node { ...a }";
    expect(refusals({ query }).map(({ extensions }) => extensions.code)).toEqual([
      "GRAPHQL_VALIDATION_FAILED",
    ]);
  });
});

describe("names that every JavaScript object has are refused", () => {
  test.each(["toString", "valueOf", "constructor", "isPrototypeOf", "__proto__"])("%s", (name) => {
    const queries = [
      `query ($${name}: Int) { page(first: $${name}) { nodes { id } } }`,
      `query ($${name}: Boolean = false) { plain @include(if: $${name}) }`,
      `{ ${name}: plain }`,
    ];
    for (const query of queries) {
      const found = refusals({ query });
      expect(found.map(({ extensions }) => extensions.code)).toEqual(["graphql_refused"]);
      expect(found[0]?.message).toContain(name);
    }
  });
});

describe("with introspection off", () => {
  const closed = policyWith({ introspection: false });
  test.each(["{ __schema { types { name } } }", '{ __type(name: "Node") { name } }'])(
    "%s is refused",
    (query) => {
      expect(refusals({ query }, closed)[0]?.extensions.code).toBe("GRAPHQL_VALIDATION_FAILED");
      expect(refusals({ query })).toEqual([]);
    },
  );

  test("error messages suggest no names", () => {
    const query = '{ plane node { nam } page(frist: 1) { total } heavy(filter: { texd: "" }) { id } }';
    const texts = (by: Policy) =>
      refusals({ query }, by)
        .map(({ message }) => message)
        .join("\n");
    expect(texts(policy)).toContain("Did you mean");
    expect(texts(closed)).not.toContain("Did you mean");
    expect(texts(closed)).toContain('Cannot query field "plane"');
  });
});

describe("trusted documents", () => {
  const folder = mkdtempSync(join(tmpdir(), "documents-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  const write = (name: string, manifest: unknown) => {
    const path = join(folder, name);
    writeFileSync(path, typeof manifest === "string" ? manifest : JSON.stringify(manifest));
    return path;
  };
  const text = "query Plain { plain }";
  const hash = createHash("sha256").update(text).digest("hex");
  const apollo = {
    format: "apollo-persisted-query-manifest",
    version: 1,
    operations: [{ id: "plain-1", name: "Plain", type: "query", body: text }],
  };

  test.each([
    ["Apollo's manifest", apollo],
    ["an object of texts by id", { "plain-1": text }],
  ])("%s names documents by its id and by their hash", (_, manifest) => {
    const trusted = readTrustedDocuments(write("manifest.json", manifest), true);
    const only = policyWith({ trusted });
    const persistedQuery = (sha256Hash: string) => ({
      extensions: { persistedQuery: { version: 1, sha256Hash } },
    });
    for (const payload of [
      { documentId: "plain-1" },
      { documentId: `sha256:${hash}` },
      persistedQuery("plain-1"),
      persistedQuery(hash),
      { query: text },
    ])
      expect(refusals(payload, only)).toEqual([]);
    expect(refusals({ query: "{ plain }" }, only)[0]?.extensions).toMatchObject({
      limit: "trustedDocuments",
    });
    const unknown = (payload: object, policy: ReturnType<typeof policyWith>) =>
      refusals(payload, policy).map(({ message, extensions: { code } }) => [code, message]);
    const code = "PERSISTED_QUERY_NOT_FOUND";
    expect(unknown({ documentId: "nope" }, only)).toEqual([
      [code, "This server has no trusted document with this documentId."],
    ]);
    expect(unknown(persistedQuery("nope"), only)).toEqual([
      [code, "This server has no trusted document with this hash."],
    ]);
    const also = policyWith({ trusted: readTrustedDocuments(write("manifest.json", manifest), false) });
    expect(refusals({ query: "{ plain }" }, also)).toEqual([]);
    expect(unknown(persistedQuery("nope"), also)).toEqual([[code, "PersistedQueryNotFound"]]);
    expect(unknown({ documentId: "nope" }, policyWith({}))).toEqual([
      [code, "This server has no trusted documents. Send a query in place of documentId."],
    ]);
  });

  test.each([
    ["no JSON", "{"],
    ["a list", "[]"],
    ["a document without a text", { format: apollo.format, operations: [{ id: "a" }] }],
  ])("%s is refused at the start", (_, manifest) => {
    expect(() => readTrustedDocuments(write("bad.json", manifest), true)).toThrow("TRUSTED_DOCUMENTS");
  });

  test("a document that the graph would refuse is named at the start", () => {
    const trusted = readTrustedDocuments(write("old.json", { old: "{ gone }" }), false);
    expect(() => policyWith({ trusted })).toThrow(/the document old is refused: Cannot query field "gone"/);
  });
});
