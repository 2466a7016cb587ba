import { buildSchema, type OperationDefinitionNode, parse } from "graphql";
import { describe, expect, test } from "vitest";
import { InputLimits } from "../../../gateway/federation/policy/input-limits.ts";
import { readInputs } from "../../../gateway/federation/policy/input-usages.ts";

const schema = buildSchema(`
  directive @note(text: String) on FIELD | QUERY | VARIABLE_DEFINITION | FRAGMENT_DEFINITION
  directive @stream(initialCount: Int = 0) on FIELD
  scalar JSON
  type Query {
    a(text: String, list: [String!], input: Outer, any: JSON, other: Int): Query
    b(list: [[Int!]!]): Int
    checkMarketOrder(signature: String, other: String): Int
    routingPreview(messages: [String!]): Int
  }
  type Mutation { signIn(input: SignInInput): Int, other(signature: String): Int }
  input SignInInput { signature: String }
  input Outer { text: String, list: [Outer!], any: JSON, message: ChatMessageInput }
  input ChatMessageInput { content: String }
`);
const limits = new InputLimits({ listItems: 3, textBytes: 10, jsonDepth: 4 });
const LONG = "x".repeat(11);
const STREAM = { code: "invalid_parameter", param: "initialCount" };

/** The refusal of a document's literals. */
const literal = (query: string) => readInputs(schema, limits, parse(query)).refusal?.extensions;

/** The refusal of the variables of the first operation of a document, or of the named one. */
function variable(query: string, variables: Readonly<Record<string, unknown>>, name?: string) {
  const document = parse(query);
  const operation = document.definitions.find(
    (one) => one.kind === "OperationDefinition" && (name === undefined || one.name?.value === name),
  );
  if (operation?.kind !== "OperationDefinition") throw new Error("the document has this operation");
  const inputs = readInputs(schema, limits, document);
  expect(inputs.refusal).toBeUndefined();
  const [first, again] = [1, 2].map(() => inputs.refuseVariables(operation, variables)?.extensions);
  expect(again).toEqual(first);
  return first;
}

describe("a literal that is too long is refused, by the name of its argument or field", () => {
  test.each([
    ["a text", `{ a(text: "${LONG}") { b } }`, { limit: "textBytes", param: "text" }],
    ["a block text", `{ a(text: """${LONG}""") { b } }`, { limit: "textBytes", param: "text" }],
    ["a list", '{ a(list: ["", "", "", ""]) { b } }', { limit: "listItems", param: "list" }],
    ["a text in a list", `{ a(list: ["", "${LONG}"]) { b } }`, { limit: "textBytes", param: "list" }],
    ["a text in place of a list", `{ a(list: "${LONG}") { b } }`, { limit: "textBytes", param: "list" }],
    ["a list in a list", "{ b(list: [[1], [1, 2, 3, 4]]) }", { limit: "listItems", param: "list" }],
    ["a text of an input", `{ a(input: { list: [{ text: "${LONG}" }] }) { b } }`, { param: "text" }],
    [
      "a list of inputs",
      "{ a(input: { list: [{}, {}, {}, {}] }) { b } }",
      { limit: "listItems", param: "list" },
    ],
    ["a text of a directive", `{ a @note(text: "${LONG}") { b } }`, { limit: "textBytes", param: "text" }],
    [
      "a number with too many digits",
      "{ a(other: 12345678901) { b } }",
      { limit: "textBytes", param: "other" },
    ],
    ["a text of an operation's directive", `query @note(text: "${LONG}") { b }`, { param: "text" }],
    [
      "a text of a variable's directive",
      `query ($v: String @note(text: "${LONG}")) { a(text: $v) { b } }`,
      { param: "text" },
    ],
    [
      "a text of a fragment's directive",
      `{ ...f } fragment f on Query @note(text: "${LONG}") { b }`,
      { param: "text" },
    ],
    ["a stream that begins with less than nothing", "{ a @stream(initialCount: -1) { b } }", STREAM],
    ["a text of a nested field", `{ a { a(other: 1, text: "${LONG}") { b } } }`, { param: "text" }],
    ["another text of this field", `{ checkMarketOrder(other: "${LONG}") }`, { param: "other" }],
    ["a text of another field", `mutation { other(signature: "${LONG}") }`, { param: "signature" }],
    ["a text of a fragment", `{ ...f } fragment f on Query { a(text: "${LONG}") { b } }`, { param: "text" }],
  ])("%s", (_what, query, details) => {
    expect(literal(query)).toMatchObject(details);
  });

  test.each([
    ["any JSON", `{ a(any: { text: "${LONG}", list: [1, 2, 3, 4, "${LONG}"] }) { b } }`],
    ["a text at the limit", '{ a(text: "0123456789", list: ["", "", ""]) { b } }'],
    ["a text that may be long", `{ a(input: { message: { content: "${LONG}" } }) { b } }`],
    ["a number", "{ a(other: 1234567890) { b } }"],
    ["a number below nothing of another argument", "{ a(other: -1) { b } }"],
    ["a stream that begins with nothing", "{ a @stream(initialCount: 0) { b } }"],
    ["a text in place of the number of a stream", '{ a @stream(initialCount: "-1") { b } }'],
    ["a text as any JSON", `{ a(any: "${LONG}") { b } }`],
    [
      "a text that may be long as this argument of this field",
      `mutation { signIn(input: { signature: "${LONG}" }) }`,
    ],
    ["a text that may be long as this argument", `{ checkMarketOrder(signature: "${LONG}") }`],
    ["a list that may be long as this argument", '{ routingPreview(messages: ["", "", "", ""]) }'],
    ["a null in place of an input", "{ a(input: null, any: null) { b } }"],
    ["an unknown argument, which the validation refuses", `{ a(nope: "${LONG}") { b } }`],
    ["an unknown field of an input", `{ a(input: { nope: "${LONG}" }) { b } }`],
    ["an unknown field", `{ nope(text: "${LONG}") }`],
    ["an unknown directive", `{ a @nope(text: "${LONG}") { b } }`],
  ])("but not %s", (_what, query) => {
    expect(literal(query)).toBeUndefined();
  });

  test("the first of several is named", () => {
    expect(literal(`{ a(list: ["", "", "", ""], text: "${LONG}") { b } }`)).toMatchObject({ param: "list" });
    expect(literal(`{ a(text: "${LONG}", list: ["", "", "", ""]) { b } }`)).toMatchObject({ param: "text" });
  });
});

describe("a variable that is too long is refused, by the name of the argument or field that it is for", () => {
  const nested = { inner: { inner: { inner: { inner: 1 } } } };
  test.each<[string, string, unknown, object]>([
    ["an argument", "query ($v: String) { a(text: $v) { b } }", LONG, { limit: "textBytes", param: "text" }],
    ["a list", "query ($v: [String!]) { a(list: $v) { b } }", ["", "", "", ""], { limit: "listItems" }],
    ["an item", "query ($v: String!) { a(list: [$v]) { b } }", LONG, { param: "list" }],
    ["an input", "query ($v: Outer) { a(input: $v) { b } }", { text: LONG }, { param: "text" }],
    [
      "a field of an input",
      "query ($v: String) { a(input: { list: [{ text: $v }] }) { b } }",
      LONG,
      { param: "text" },
    ],
    ["any JSON", "query ($v: JSON) { a(any: $v) { b } }", nested, { limit: "jsonDepth", param: "any" }],
    [
      "a member of any JSON",
      "query ($v: JSON) { a(any: { x: [{ y: $v }] }) { b } }",
      nested,
      { param: "any" },
    ],
    [
      "the beginning of a stream",
      "query ($v: Int) { a @stream(initialCount: $v) { b } }",
      -1,
      { code: "invalid_parameter", param: "initialCount" },
    ],
    ["a directive", "query ($v: String) { a @note(text: $v) { b } }", LONG, { param: "text" }],
    [
      "a fragment",
      "query ($v: String) { ...f } fragment f on Query { a(text: $v) { b } }",
      LONG,
      { param: "text" },
    ],
    [
      "a fragment of a fragment",
      "query ($v: String) { ...f } fragment f on Query { a { ...g } } fragment g on Query { a(text: $v) { b } }",
      LONG,
      { param: "text" },
    ],
  ])("%s", (_what, query, v, details) => {
    expect(variable(query, { v })).toMatchObject(details);
    for (const short of ["", null, undefined]) expect(variable(query, { v: short })).toBeUndefined();
  });

  test("a variable that several arguments use is within the limit of each", () => {
    const query =
      "query ($v: String) { a(text: $v, input: { message: { content: $v } }) { b } c: a(input: { message: { content: $v } }) { b } }";
    expect(variable(query, { v: LONG })).toMatchObject({ most: 10, param: "text" });
    const long = "query ($v: String) { a(input: { message: { content: $v } }) { b } }";
    expect(variable(long, { v: LONG })).toBeUndefined();
    const argument = "query ($v: String) { checkMarketOrder(signature: $v) }";
    expect(variable(argument, { v: LONG })).toBeUndefined();
  });

  test("every variable is checked, whatever the others hold", () => {
    const query =
      "query ($a: String, $b: String, $c: Int) { a(text: $a, other: $c) { a(list: [$b]) { b } } }";
    expect(variable(query, { a: "", b: LONG, c: 1 })).toMatchObject({ param: "list" });
    expect(variable(query, { a: LONG, b: "", c: 1 })).toMatchObject({ param: "text" });
  });

  test("only the variables of the requested operation count", () => {
    const query =
      "query one ($v: String) { a(text: $v) { b } } query two ($v: Int) { a(other: $v) { b } } query three { b }";
    expect(variable(query, { v: LONG }, "one")).toMatchObject({ param: "text" });
    expect(variable(query, { v: 5 }, "two")).toBeUndefined();
    expect(variable(query, { v: LONG }, "three")).toBeUndefined();
  });

  test("a fragment counts only where it is spread, however often, even among fragments that spread each other", () => {
    const fragments = "fragment f on Query { a(text: $v) { ...g } } fragment g on Query { ...f }";
    expect(variable(`query one ($v: String) { ...f ...f } ${fragments}`, { v: LONG })).toMatchObject({
      param: "text",
    });
    expect(variable(`query one { b } ${fragments}`, { v: LONG })).toBeUndefined();
    expect(variable(`query one { ...none } ${fragments}`, { v: LONG })).toBeUndefined();
  });
});

test("a variable is named by the argument or field that it is given for", () => {
  const document = parse(`
    query one($text: String, $deep: String, $spread: Int, $unused: Int) {
      a(text: $text, input: { list: [{ text: $deep }] }) { ...f }
    }
    fragment f on Query { a(other: $spread) { b } }
    query other($text: Int) { a(other: $text) { b } }
  `);
  const inputs = readInputs(schema, limits, document);
  const [one, , other] = document.definitions as OperationDefinitionNode[];
  const names = ["text", "deep", "spread", "unused"].map((name) => one && inputs.fieldOf(one, name));
  expect(names).toEqual(["text", "text", "other", undefined]);
  expect(other && inputs.fieldOf(other, "text")).toBe("other");
});
