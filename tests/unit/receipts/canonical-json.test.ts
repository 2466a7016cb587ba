import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalJson } from "../../../src/receipts/format/canonical-json.ts";

const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { maxDepth: 4 },
    fc.string({ unit: "grapheme" }),
    fc.maxSafeInteger(),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie("any"), { maxLength: 4 }),
    fc.dictionary(fc.string({ unit: "grapheme" }), tie("any"), { maxKeys: 4, noNullPrototype: true }),
  ),
})).any;

describe("canonical JSON", () => {
  it("sorts members by UTF-16 code units, as RFC 8785, section 3.2.3, shows", () => {
    const members = {
      "\u20ac": "Euro Sign",
      "\r": "Carriage Return",
      "\ufb33": "Hebrew Letter Dalet With Dagesh",
      "1": "One",
      "\ud83d\ude00": "Emoji: Grinning Face",
      "\u0080": "Control",
      "\u00f6": "Latin Small Letter O With Diaeresis",
    };
    const values = [...canonicalJson(members).matchAll(/:"([^"]+)"/g)].map((match) => match[1]);
    expect(values).toEqual([
      "Carriage Return",
      "One",
      "Control",
      "Latin Small Letter O With Diaeresis",
      "Euro Sign",
      "Emoji: Grinning Face",
      "Hebrew Letter Dalet With Dagesh",
    ]);
  });

  it("escapes only what RFC 8785, section 3.2.2.2, escapes", () => {
    expect(canonicalJson('\u20ac$\u000f\nA\'B"\\\\"/')).toBe('"\u20ac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"');
  });

  it("has no whitespace, and writes literals and integers", () => {
    expect(canonicalJson({ b: [true, false, null], a: { d: -0, c: 9007199254740991 } })).toBe(
      '{"a":{"c":9007199254740991,"d":0},"b":[true,false,null]}',
    );
  });

  it.each([
    ["a fraction", 0.5],
    ["an inexact integer", 2 ** 53],
    ["infinity", Number.POSITIVE_INFINITY],
    ["a member that is undefined", { a: undefined }],
    ["a hole", new Array(1)],
    ["a bigint", 1n],
    ["a lone surrogate", "\ud83d"],
    ["a name with a lone surrogate", { "\ud83d": 1 }],
    ["an object of a class", new Date(0)],
    ["a map", new Map()],
    ["a function", () => 1],
  ])("rejects %s", (_, invalid) => {
    expect(() => canonicalJson(invalid)).toThrow(TypeError);
  });

  it("rejects what is nested too deeply", () => {
    const nest = (depth: number): unknown => (depth === 0 ? 1 : [nest(depth - 1)]);
    expect(canonicalJson(nest(32))).toBe(`${"[".repeat(32)}1${"]".repeat(32)}`);
    expect(() => canonicalJson(nest(33))).toThrow("nested too deeply");
  });

  it("reads back as the same value, whatever the order of its members", () => {
    fc.assert(
      fc.property(value, (any) => {
        const text = canonicalJson(any);
        expect(canonicalJson(JSON.parse(text))).toBe(text);
        expect(canonicalJson(reversed(any))).toBe(text);
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(any)));
      }),
    );
  });
});

function reversed(any: unknown): unknown {
  if (Array.isArray(any)) return any.map(reversed);
  if (typeof any !== "object" || any === null) return any;
  const entries = Object.entries(any).reverse();
  return Object.fromEntries(entries.map(([name, member]) => [name, reversed(member)]));
}
