import { buildSchema, getOperationAST, parse } from "graphql";
import { describe, expect, test } from "vitest";
import { compileCost } from "../../../gateway/federation/policy/cost.ts";
import { readDirectiveUses } from "../../../gateway/federation/policy/schema-directives.ts";

const SDL = `
  directive @cost(weight: Int!) on ARGUMENT_DEFINITION | FIELD_DEFINITION | OBJECT | SCALAR | ENUM | INPUT_FIELD_DEFINITION
  directive @listSize(assumedSize: Int, slicingArguments: [String!], sizedFields: [String!]) on FIELD_DEFINITION
  scalar Heavy @cost(weight: 6)
  union Found = Node | Leafy
  type Query {
    node: Node
    heavy: Heavy
    found: [Found!]! @listSize(assumedSize: 3)
    weighed: String @cost(weight: 4)
    free: Node @cost(weight: 0)
    list: [Node!]!
    names: [String!]!
    heavies: [Heavy!]! @listSize(assumedSize: 2)
    undeclared: [Node!]! @listSize(slicingArguments: ["first"])
    matrix: [[Node!]!]! @listSize(assumedSize: 2)
    slices(label: String = "x", first: Int, last: Int = 3): [Node!]! @listSize(slicingArguments: ["first", "last"], assumedSize: 8)
    page(input: PageInput = { range: { first: 4 } }): NodePage @listSize(slicingArguments: ["input.range.first"], sizedFields: ["nodes", "edges"])
    priced(a: String @cost(weight: 2), b: String, c: Int @cost(weight: 0)): Node
    searched(filter: Filter, filters: [Filter!] @cost(weight: 1), plain: Plain): Node
    name__: Node
    nodes(ids: [ID!]!): [Node]! @listSize(assumedSize: 100)
  }
  type Mutation { act: Node  say: String }
  type Subscription { node: Node }
  input PageInput { range: Range }
  input Range { first: Int }
  input Filter { text: String @cost(weight: 30), inner: Filter, all: [Filter!] @cost(weight: 3), number: Int }
  input Plain { text: String }
  interface Named { name: String  friend: Node }
  type Node implements Named { id: ID! name: String friend: Node nodes: [Node!]! }
  type Leafy { id: ID! heavy: Heavy }
  type NodePage { nodes: [Node!]! edges: [Node!]! others: [Node!]! total: Int }
`;

const schema = buildSchema(SDL);
const { cost = new Map(), listSize = new Map() } = readDirectiveUses(SDL, ["cost", "listSize"]);

function costOf(query: string, variables: Readonly<Record<string, unknown>> = {}): number {
  const document = parse(query);
  const operation = getOperationAST(document);
  if (!operation) throw new Error("the query has one operation");
  return compileCost(schema, { cost, listSize, defaultListSize: 5 }, document, operation)(variables);
}

describe("an operation costs", () => {
  test("entities by their ids as many as there are ids", () => {
    const query = "query ($ids: [ID!]!) { nodes(ids: $ids) { id friend { id } } }";
    expect(costOf(query, { ids: ["1", "2", "3"] })).toBe(6);
    expect(costOf('{ nodes(ids: ["1", "2"]) { id } }')).toBe(2);
    expect(costOf('query ($id: ID!) { nodes(ids: [$id, "2"]) { id } }', { id: "1" })).toBe(2);
    expect(costOf(query, { ids: [] })).toBe(0);
    // One value in place of a list, which is not counted.
    expect(costOf(query, { ids: "1" })).toBe(200);
  });

  test.each([
    [
      "nothing for a leaf, its type name and the schema",
      "{ __typename __schema { types { name } } node { id __typename } }",
      1,
    ],
    ["1 for a field whose name ends in underscores", "{ name__ { id } }", 1],
    ["the weight of a field", "{ weighed }", 4],
    ["the weight of a scalar", "{ heavy }", 6],
    ["the weight of each scalar of a list", "{ heavies }", 12],
    ["nothing for a list of plain scalars", "{ names }", 0],
    ["only what is inside an object of weight zero", "{ free { friend { id } } }", 1],
    ["an object once under each alias", "{ a: node { id } b: node { id } }", 2],
    [
      "the members of a union, each in its place",
      "{ found { __typename ... on Node { friend { id } } ... on Leafy { heavy } } }",
      24,
    ],
    ["what an inline fragment without a type has", "{ ... { node { id } } }", 1],
    [
      "what a fragment has, through an interface",
      "{ node { ...f } } fragment f on Named { friend { friend { id } } }",
      3,
    ],
    ["nothing for a fragment that the document does not have", "{ node { ...missing } }", 1],
    ["10 for each mutation field, and what it returns", "mutation { act { id } say }", 21],
    ["what a subscription returns", "subscription { node { friend { id } } }", 2],
  ])("%s", (_what, query, expected) => {
    expect(costOf(query)).toBe(expected);
  });

  test("nothing where the schema has no such operations", () => {
    const document = parse("mutation { act }");
    const operation = getOperationAST(document);
    if (!operation) throw new Error("the document has one operation");
    const queries = buildSchema("type Query { a: Int }");
    expect(compileCost(queries, { cost, listSize, defaultListSize: 5 }, document, operation)({})).toBe(0);
  });
});

describe("a list is as long as", () => {
  test.each([
    ["the operator's default, if nothing is declared", "{ list { id } }", 5],
    ["the operator's default, if the argument that would say it is not given", "{ undeclared { id } }", 5],
    ["its assumed size, at its outer level", "{ matrix { id } }", 10],
    ["the largest of its arguments", "{ slices(first: 7, last: 2) { id } }", 7],
    ["the default of an argument", "{ slices(first: 1) { id } }", 3],
    ["nothing below zero", "{ slices(first: -9, last: -1) { id } }", 0],
    ["a member of an input", "{ page(input: { range: { first: 6 } }) { nodes { id } } }", 7],
    ["the default of an input", "{ page { nodes { id } } }", 5],
    ["each sized field of a page, and no other", "{ page { nodes { id } edges { id } others { id } } }", 14],
  ])("%s", (_what, query, expected) => {
    expect(costOf(query)).toBe(expected);
  });

  test("a variable says, and a value that is no finite number says nothing", () => {
    const query = "query ($n: Int, $m: Int) { slices(first: $n, last: $m) { id } }";
    expect(costOf(query, { n: 12, m: 4 })).toBe(12);
    expect(costOf(query, { n: 2.5, m: 1 })).toBe(2.5);
    for (const n of [null, "9", true, Number.NaN, Number.POSITIVE_INFINITY, {}])
      expect(costOf(query, { n, m: 2 })).toBe(2);
    expect(costOf(query, { n: null, m: null })).toBe(8);
    // The default of the argument applies where the variable is absent.
    expect(costOf(query, {})).toBe(3);
  });

  test("a variable for the whole input says, however much of it is missing", () => {
    const query = "query ($input: PageInput) { page(input: $input) { nodes { id } } }";
    expect(costOf(query, { input: { range: { first: 9 } } })).toBe(10);
    for (const input of [null, {}, { range: null }]) expect(costOf(query, { input })).toBe(6);
  });
});

describe("an argument costs", () => {
  test.each([
    ["its weight if it is given", '{ priced(a: "") { id } }', 3],
    ["nothing if it has no weight, or a weight of zero", '{ priced(b: "", c: 1) { id } }', 1],
    ["nothing if it is not given", "{ priced { id } }", 1],
    [
      "the weights of the input fields that are given",
      '{ searched(filter: { text: "", number: 1 }) { id } }',
      31,
    ],
    ["those of nested inputs too", '{ searched(filter: { inner: { inner: { text: "" } } }) { id } }', 31],
    [
      "those of each item of a list, and its own",
      '{ searched(filters: [{ text: "" }, {}, { text: "" }]) { id } }',
      62,
    ],
    ["those of one item in place of a list", '{ searched(filters: { text: "" }) { id } }', 32],
    ["those of lists in inputs", '{ searched(filter: { all: [{ text: "" }, { text: "" }] }) { id } }', 64],
    ["nothing for an input without weights", '{ searched(plain: { text: "" }) { id } }', 1],
  ])("%s", (_what, query, expected) => {
    expect(costOf(query)).toBe(expected);
  });

  test("what its variable holds, whatever that is", () => {
    const query = "query ($f: Filter) { searched(filter: $f) { id } }";
    expect(costOf(query, { f: { text: "", inner: { text: "" } } })).toBe(61);
    for (const f of [undefined, null, "text", 5, {}, { unknown: {} }, { inner: null }])
      expect(costOf(query, { f })).toBe(1);
  });
});
