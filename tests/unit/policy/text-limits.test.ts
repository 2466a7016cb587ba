import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { refuseText } from "../../../gateway/federation/policy/text-limits.ts";
import { GRAPH_LIMITS } from "../../../src/graph-limits.ts";

const limitOf = (text: string, documentBytes: number = GRAPH_LIMITS.documentBytes) =>
  refuseText(text, { ...GRAPH_LIMITS, documentBytes })?.extensions;
const open = (sign: string, count = 201) => sign.repeat(count);

describe("a document", () => {
  test("has at most as many bytes as the limit, and a character may have several", () => {
    expect(limitOf("{abc}", 5)).toBeUndefined();
    expect(limitOf("{abcd}", 5)).toMatchObject({ limit: "documentBytes", most: 5 });
    expect(limitOf("{é}", 4)).toBeUndefined();
    expect(limitOf("{é}", 3)).toMatchObject({ limit: "documentBytes" });
  });

  test.each(["{}", "()", "[]"])("nests %s in at most 200 levels", (pair) => {
    const nested = (levels: number) => `${open(pair.charAt(0), levels)} a ${open(pair.charAt(1), levels)}`;
    expect(limitOf(nested(200))).toBeUndefined();
    expect(limitOf(nested(201))).toMatchObject({ limit: "nesting", most: 200 });
    // A level that is closed is not nested any more.
    expect(limitOf(pair.repeat(1_000))).toBeUndefined();
  });

  test.each([
    ["a field", (name: string) => `{ ${name} }`],
    ["a variable", (name: string) => `query ($${name}: Int) { a }`],
    ["an alias after a string", (name: string) => `{ a(b: "x")${name}: c }`],
  ])("may name %s in at most 256 bytes", (_what, text) => {
    expect(limitOf(text("x".repeat(256)))).toBeUndefined();
    expect(limitOf(text("x".repeat(257)))).toEqual({
      ...{ code: "graphql_refused", limit: "nameBytes", most: 256 },
    });
  });

  test.each([
    ["a long name", "query {\n  a", "x".repeat(257), 2, 3],
    ["a long name after literals", '{ a(b: "x\\"", c: """\n{\n""") # {\n  a', "x".repeat(257), 4, 3],
    ["brackets after literals", '{ a(b: """\r\n{\r\n""") # {\n', "{".repeat(200), 4, 200],
  ])("is refused with the location of %s", (_what, before, excess, line, column) => {
    const text = before.endsWith("a") ? `${before.slice(0, -1)}${excess} }` : `${before}${excess}`;
    expect(refuseText(text, GRAPH_LIMITS)?.toJSON()).toMatchObject({ locations: [{ line, column }] });
  });

  test("may have longer words in strings and comments", () => {
    const word = "x".repeat(2_000);
    expect(limitOf(`{ a(b: "${word}", c: """${word}""") } # ${word}`)).toBeUndefined();
    // A literal separates the names beside it.
    const half = "x".repeat(200);
    expect(limitOf(`{ a(b: [${half}"x"${half}]) }`)).toBeUndefined();
  });

  test("counts all kinds of brackets together", () => {
    expect(limitOf("{([".repeat(67))).toMatchObject({ limit: "nesting" });
    expect(limitOf("{([".repeat(66))).toBeUndefined();
  });

  test.each([
    ["a string", `{ a(b: "${open("{")}") }`],
    ["a string with escaped quotes", `{ a(b: "\\"${open("{")}\\\\") }`],
    ["a string without an end", `{ a(b: "${open("{")}`],
    ["a block string of several lines", `{ a(b: """\n${open("{")}\n"${open("[")}\n""") }`],
    ["a block string with an escaped end", `{ a(b: """ \\""" ${open("{")} """) }`],
    ["a block string of several lines without an end", `{ a(b: """\n${open("{")}`],
    ["a block string without an end", `{ a(b: """ ${open("{")} " \n" ${open("{")}`],
    ["a comment", `{ # ${open("{")} "\n a }`],
  ])("does not count brackets in %s", (_where, text) => {
    expect(limitOf(text)).toBeUndefined();
  });

  test.each([
    ["a string", `{ a(b: "x") ${open("{")} }`],
    ["an empty string", `{ a(b: "") ${open("{")} }`],
    ["a string that ends in a backslash", `{ a(b: "\\\\") ${open("{")} }`],
    ["a string that its line ends", `{ a(b: "x\n${open("{")}`],
    ["a block string", `{ a(b: """ " """) ${open("{")} }`],
    ["an empty block string", `{ a(b: """""") ${open("{")} }`],
    ["a comment", `{ # x\n ${open("{")}`],
    ["a comment that a carriage return ends", `{ # x\r ${open("{")}`],
    ["a quote in a comment", `{ # "\n ${open("{")} # "`],
  ])("counts brackets after %s", (_where, text) => {
    expect(limitOf(text)).toMatchObject({ limit: "nesting" });
  });

  test("is refused for its nesting whatever literals stand between its brackets", () => {
    const literal = fc.constantFrom('"}"', '"\\""', '"""}"}"""', '"""\\""" } """', '""', "# }\n", "a");
    fc.assert(
      fc.property(fc.array(literal, { minLength: 201, maxLength: 201 }), (literals) => {
        const text = literals.map((one) => `{ ${one} `).join("");
        expect(limitOf(text)).toMatchObject({ limit: "nesting" });
        expect(limitOf(text.slice(text.indexOf("{ ", 1)))).toBeUndefined();
      }),
    );
  });
});
