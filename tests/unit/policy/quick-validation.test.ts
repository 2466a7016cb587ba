// @module-tag medium
import { globSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { buildSchema, GraphQLError, Kind, parse, specifiedRules, validate } from "graphql";
import { describe, expect, test } from "vitest";
import { IncrementalRule } from "../../../gateway/federation/policy/incremental-rule.ts";
import { passesRules } from "../../../gateway/federation/policy/quick-validation.ts";

const SCHEMA = buildSchema(readFileSync("schema/api.graphql", "utf8"));
const RULES = [...specifiedRules, IncrementalRule];
const EXAMPLES = globSync("schema/examples/*.graphql").map((file) => readFileSync(file, "utf8"));
/** What examples lack: fragments, directives, values within values, and definitions before and after their use. */
const DOCUMENTS = [
  ...EXAMPLES,
  `fragment Early on InferenceRequest { id ...Late } query A($first: Int = 3, $not: Boolean!) {
    viewer { account { requests(first: $first) { nodes {
      ...Early @include(if: $not) ... on InferenceRequest @skip(if: $not) { id } } } } } }
   fragment Late on InferenceRequest { status }`,
  `query B($status: RequestStatus!, $filter: RequestFilterInput) { viewer { account {
    a: requests(filter: { statuses: [$status, COMPLETED], cost: { min: "1" } }) { nodes { id } }
    b: requests(filter: $filter, last: 2) { nodes { id same: id } } } } __schema { types { name } } }`,
  `query C { viewer { account { id } } } query D { viewer { account { id } } }`,
  `{ node(id: "x") { id ... on ApiKey { name } ... @defer(label: "l") { id } } }`,
];
const TOKENS = /"(?:[^"\\]|\\.)*"|\.\.\.|[\w$@]+|[^\s\w]/g;

describe("the quick validation", () => {
  test("accepts every valid document", () => {
    for (const text of DOCUMENTS) expect(passesRules(SCHEMA, parse(text), RULES), text).toBe(true);
  });

  test("accepts a document exactly if graphql-js does, whatever words are exchanged, removed or taken from another", () => {
    const outcomes = { valid: 0, invalid: 0 };
    const index = fc.nat({ max: DOCUMENTS.length - 1 });
    const edits = fc.array(fc.tuple(fc.nat({ max: 2 }), fc.nat(), fc.nat()), { maxLength: 2 });
    const property = fc.property(index, index, edits, (which, other, changes) => {
      const [tokens, foreign] = [tokensOf(which), tokensOf(other).filter(isWord)];
      for (const [kind, from, to] of changes) {
        const words = [...tokens.keys()].filter((at) => isWord(tokens[at] as string));
        const [a, b] = [words[from % words.length] as number, words[to % words.length] as number];
        if (kind === 0) [tokens[a], tokens[b]] = [tokens[b] as string, tokens[a] as string];
        else tokens[a] = kind === 1 ? "" : (foreign[to % foreign.length] as string);
      }
      const document = parsed(tokens.join(" "));
      if (!document) return;
      const isValid = validate(SCHEMA, document, RULES).length === 0;
      outcomes[isValid ? "valid" : "invalid"]++;
      expect(passesRules(SCHEMA, document, RULES), tokens.join(" ")).toBe(isValid);
    });
    fc.assert(property, { numRuns: 3_000 });
    expect(Math.min(outcomes.valid, outcomes.invalid)).toBeGreaterThan(100);
  });

  test("leaves definitions of types and unknown kinds of nodes to graphql-js", () => {
    for (const text of [
      "type A { a: A }",
      "{ models { nodes { id } } } scalar B",
      "extend type Query { a: Int }",
    ])
      expect(passesRules(SCHEMA, parse(text), RULES)).toBe(false);
  });

  test("refuses a document in which fragments are spread too often for graphql-js", () => {
    const numbers = Array.from({ length: 400 }, (_, n) => n);
    const fragments = numbers.map(
      (n) => `fragment f${n} on Query { ${n > 0 ? `...f${n - 1}` : "__typename"} }`,
    );
    const operations = numbers.map((n) => `query q${n} { ...f${n} }`);
    const document = parse([...fragments, ...operations].join("\n"), { noLocation: true });
    const rules = specifiedRules.filter(({ name }) => /^NoUn/.test(name));
    expect(validate(SCHEMA, document, rules).map(({ message }) => message)).toEqual(["Validation aborted."]);
    expect(passesRules(SCHEMA, document, rules)).toBe(false);
  });

  test("throws what a rule throws", () => {
    const broken = () => ({
      [Kind.FIELD]() {
        throw new TypeError("broken");
      },
    });
    expect(() => passesRules(SCHEMA, parse("{ models { nodes { id } } }"), [broken])).toThrow("broken");
  });
});

function tokensOf(which: number): string[] {
  return (DOCUMENTS[which] as string).replace(/#.*$/gm, "").match(TOKENS) ?? [];
}

function isWord(token: string): boolean {
  return /^[\w$@"]/.test(token);
}

function parsed(text: string) {
  try {
    return parse(text, { noLocation: true });
  } catch (error) {
    if (error instanceof GraphQLError) return undefined;
    throw error;
  }
}
