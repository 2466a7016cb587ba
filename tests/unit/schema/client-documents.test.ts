import { globSync, readFileSync } from "node:fs";
import { buildSchema, parse, validate } from "graphql";
import { describe, expect, test } from "vitest";

/**
 * Sources with documents that no compiler compares with the schema: a wrong argument would only fail at run time.
 * Relay's documents have directives of its own; its artifacts are checked by tests/client/relay-example.test.ts.
 */
const SOURCES = globSync([
  "gateway/dashboard/app/**/*.{ts,tsx}",
  "packages/client/src/**/*.{ts,tsx}",
  "examples/**/src/**/*.{ts,tsx}",
]).filter((path) => !/node_modules|src\/graphql\/gql\.ts$|relay-requests/.test(path));
const schema = buildSchema(readFileSync("schema/api.graphql", "utf8"));

/** The texts of documents in a source: templates of `graphql(...)` and of `graphql`. */
function documentsIn(source: string): readonly string[] {
  const templates = source.matchAll(/(?<![/.\w"'])graphql(?:\(\s*)?(`[^`]*`|"[^"\n]*"|'[^'\n]*')/g);
  return [...templates].map(([, text = ""]) => text.slice(1, -1)).filter((text) => text.includes("{"));
}

describe("the documents of our own clients", () => {
  const found = SOURCES.map((path) => ({ path, texts: documentsIn(readFileSync(path, "utf8")) }));
  const used = found.filter(({ texts }) => texts.length > 0);

  test("are found", () => {
    expect(used.length).toBeGreaterThan(10);
  });

  test.each(used)("of $path are valid", ({ texts }) => {
    // Fragments are masked by gql.tada and live in other sources.
    for (const text of texts)
      expect(
        validate(schema, parse(text)).filter(({ message }) => !/fragment/i.test(message)),
        text,
      ).toEqual([]);
  });
});
