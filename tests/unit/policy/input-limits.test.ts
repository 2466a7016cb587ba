import { buildSchema, type GraphQLInputType } from "graphql";
import { describe, expect, test } from "vitest";
import { InputLimits } from "../../../gateway/federation/policy/input-limits.ts";

const schema = buildSchema(`
  scalar JSON
  enum Kind { A B }
  type Query { a(x: Outer, list: [[String!]], any: JSON, kind: Kind, texts: [String!]): Int }
  input Outer { text: String, list: [Outer!], any: JSON, inner: Outer, kind: Kind }
  input ChatMessageInput { content: String, role: String }
  input ChatInput { messages: [ChatMessageInput!]!, stop: [String!] }
`);
const limits = new InputLimits({ listItems: 3, textBytes: 10, jsonDepth: 4 });

/** The details of the refusal of a value at `Query.a(...)`, or of another type at a coordinate. */
function refusal(
  value: unknown,
  name: string,
  coordinate = `Query.a(${name})`,
): Readonly<Record<string, unknown>> | undefined {
  const argument = schema
    .getQueryType()
    ?.getFields()
    .a?.args.find((one) => one.name === name);
  const type = argument?.type ?? (schema.getType(name) as GraphQLInputType | undefined);
  if (!type) throw new Error(`no argument or type ${name}`);
  const error = limits.refuseValue(value, type, coordinate);
  return error && { ...error.extensions, message: error.message };
}

const nested = (levels: number, end: unknown = 1): unknown =>
  levels === 0 ? end : { inner: nested(levels - 1, end) };
const lists = (levels: number): unknown => (levels === 0 ? 1 : [lists(levels - 1)]);

describe("a list", () => {
  test("has at most as many items as the limit, and the argument is named", () => {
    expect(refusal(["a", "b", "c"], "texts")).toBeUndefined();
    expect(refusal(["a", "b", "c", "d"], "texts")).toEqual({
      message: "texts accepts at most 3 items, not 4.",
      code: "graphql_refused",
      limit: "listItems",
      most: 3,
      param: "texts",
    });
  });

  test("is limited at every level, and one item may stand for it", () => {
    expect(refusal([["a"], ["a", "b", "c", "d"]], "list")).toMatchObject({
      limit: "listItems",
      param: "list",
    });
    expect(refusal("a", "texts")).toBeUndefined();
    expect(refusal("x".repeat(11), "texts")).toMatchObject({ limit: "textBytes", param: "texts" });
  });

  test("in an input is named by its field", () => {
    expect(refusal({ list: [{}, {}, {}, {}] }, "x")).toMatchObject({ limit: "listItems", param: "list" });
    expect(refusal({ list: [{}, {}, {}] }, "x")).toBeUndefined();
  });

  test("may be longer where it is listed as long, and another field of that input may not", () => {
    const messages = (count: number) => ({ messages: Array.from({ length: count }, () => ({})) });
    expect(refusal(messages(1_000), "ChatInput")).toBeUndefined();
    expect(refusal(messages(1_001), "ChatInput")).toMatchObject({ most: 1_000, param: "messages" });
    expect(refusal({ stop: ["a", "b", "c", "d"] }, "ChatInput")).toMatchObject({ most: 3, param: "stop" });
  });
});

describe("a text", () => {
  test.each([
    ["0123456789", true],
    ["01234567890", false],
    ["€€€", true],
    ["€€€€", false],
    ["ééééé", true],
    ["éééééé", false],
  ])("%s is within the limit of ten bytes: %s", (text, isWithin) => {
    const found = refusal({ text }, "x");
    if (isWithin) expect(found).toBeUndefined();
    else
      expect(found).toEqual({
        message: "text accepts at most 10 bytes.",
        code: "graphql_refused",
        limit: "textBytes",
        most: 10,
        param: "text",
      });
  });

  test("is limited at every place: in lists, in nested inputs, as an enum value", () => {
    const long = "x".repeat(11);
    expect(refusal({ list: [{}, { inner: { text: long } }] }, "x")).toMatchObject({ param: "text" });
    expect(refusal(["a", long], "texts")).toMatchObject({ param: "texts" });
    expect(refusal({ kind: long }, "x")).toMatchObject({ limit: "textBytes", param: "kind" });
    expect(refusal(long, "kind")).toMatchObject({ limit: "textBytes", param: "kind" });
  });

  test("may be longer where it is listed as long", () => {
    expect(refusal({ content: "x".repeat(524_288) }, "ChatMessageInput")).toBeUndefined();
    expect(refusal({ content: "x".repeat(524_289) }, "ChatMessageInput")).toMatchObject({ most: 524_288 });
    expect(refusal({ role: "x".repeat(11) }, "ChatMessageInput")).toMatchObject({ most: 10 });
  });
});

describe("any JSON", () => {
  test("has texts of any length, and lists too", () => {
    expect(refusal("x".repeat(1_000), "any")).toBeUndefined();
    expect(refusal({ any: { text: "x".repeat(1_000), list: Array(100).fill(1) } }, "x")).toBeUndefined();
  });

  test.each([
    ["objects", nested],
    ["lists", lists],
  ])("nests %s within the limit, counted from the argument", (_what, make) => {
    expect(refusal(make(3), "any")).toBeUndefined();
    expect(refusal(make(4), "any")).toMatchObject({ limit: "jsonDepth", most: 4, param: "any" });
    // The input object is a level as well.
    expect(refusal({ any: make(2) }, "x")).toBeUndefined();
    expect(refusal({ any: make(3) }, "x")).toMatchObject({ limit: "jsonDepth", param: "any" });
  });

  test("is nested as deep as its deepest part", () => {
    expect(refusal({ a: 1, b: null, c: "x", d: nested(2) }, "any")).toBeUndefined();
    expect(refusal({ a: 1, d: nested(3), e: 1 }, "any")).toMatchObject({ limit: "jsonDepth" });
  });
});

describe("an input object", () => {
  test("is nested within the limit of depth", () => {
    expect(refusal(nested(3, null), "x")).toBeUndefined();
    expect(refusal(nested(3, {}), "x")).toBeUndefined();
    expect(refusal(nested(4, {}), "x")).toEqual({
      message: "inner is nested too deeply: at most 4 levels are allowed.",
      code: "graphql_refused",
      limit: "jsonDepth",
      most: 4,
      param: "inner",
    });
    const inLists = { list: [{ list: [{}] }] };
    expect(refusal(inLists, "x")).toMatchObject({ limit: "jsonDepth", param: "list" });
  });

  test("with an unknown field is refused by the path of that field", () => {
    expect(refusal({ text: "a", nope: 1 }, "x", "Query.a(input)")).toEqual({
      message: '"input.nope" is not a field of the input.',
      code: "invalid_parameter",
      param: "input.nope",
    });
    expect(refusal({ list: [{}, { inner: { nope: 1 } }] }, "x", "Query.a(input)")).toMatchObject({
      param: "input.list.1.inner.nope",
    });
  });

  test("is checked later where its value has another type", () => {
    for (const value of [5, true, "x".repeat(100)]) expect(refusal(value, "x")).toBeUndefined();
    for (const value of [5, true, 1e300, null, undefined]) expect(refusal(value, "kind")).toBeUndefined();
  });
});

test("the name of an argument or a field is the last of its coordinate", () => {
  const names = ["Query.a(first)", "Input.field", "@tag(name)", "plain"].map(
    (coordinate) => refusal("x".repeat(11), "kind", coordinate)?.param,
  );
  expect(names).toEqual(["first", "field", "name", "plain"]);
});

describe("a number", () => {
  const stream = (value: number) => limits.refuseNumber(value, "@stream(initialCount)");

  test("is refused where it says that a stream begins with less than nothing", () => {
    expect(stream(-1)?.message).toBe("The initialCount of @stream must be at least 0.");
    expect(stream(-1)?.extensions).toMatchObject({ code: "invalid_parameter", param: "initialCount" });
    expect([0, 1].map(stream)).toEqual([undefined, undefined]);
    expect(limits.refuseNumber(-1, "Query.a(first)")).toBeUndefined();
  });

  test("of a variable is checked as one in the document", () => {
    const type = schema.getType("Kind") as GraphQLInputType;
    expect(limits.refuseValue(-1, type, "@stream(initialCount)")?.extensions).toMatchObject({
      param: "initialCount",
    });
    expect(limits.refuseValue("-1", type, "@stream(initialCount)")).toBeUndefined();
  });
});
