import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { buildSchema, parse, validate } from "graphql";
import { expect, test } from "vitest";
import { configurationPage } from "../../../scripts/configuration.ts";
import { SETTINGS } from "../../../src/config.ts";

const PAGES = [
  "README.md",
  "schema/choices.md",
  "schema/spec-table.md",
  "tests/bench/RESULTS.md",
  ...pagesUnder("docs"),
  ...pagesUnder("examples"),
  ...pagesUnder("packages"),
];
const { scripts } = JSON.parse(readFileSync("package.json", "utf8")) as { scripts: Record<string, string> };

test("the configuration page lists every setting once and matches the code", async () => {
  for (const name of Object.keys(SETTINGS))
    expect(configurationPage().split(`\n| \`${name}\` |`), name).toHaveLength(2);
  expect(readFileSync("docs/configuration.md", "utf8"), "run npm run schema").toBe(configurationPage());
});

test.each(PAGES)("every link in %s has a target, and every npm script that it names exists", (page) => {
  const text = readFileSync(page, "utf8");
  const links = [...text.matchAll(/\]\((?!https?:)([^)#\s]+)[^)]*\)/g)].map(([, link = ""]) => link);
  for (const link of links) expect(existsSync(join(dirname(page), link)), link).toBe(true);
  if (page.startsWith("examples")) return;
  for (const [, name = ""] of text.matchAll(/npm run (?:-s )?([a-z][\w:-]*)/g))
    expect(Object.keys(scripts), `npm run ${name}`).toContain(name);
});

test("every GraphQL document in the pages is valid", () => {
  const schema = buildSchema(readFileSync("schema/api.graphql", "utf8"));
  const documents = PAGES.flatMap((page) =>
    [
      ...readFileSync(page, "utf8").matchAll(
        /"query": ?"(\{.*?|(?:query|mutation|subscription)\b.*?)"[ ,}]/g,
      ),
    ].map(([, text = ""]) => ({ page, text: text.replaceAll('\\"', '"') })),
  );
  expect(documents.length).toBeGreaterThan(5);
  for (const { page, text } of documents)
    expect(validate(schema, parse(text)), `${page}: ${text}`).toEqual([]);
});

test("every alert uses metrics that exist", () => {
  const sources = ["src/metrics/metrics.ts", "src/metrics/sampled-gauges.ts"];
  const kept = sources.map((file) => readFileSync(file, "utf8")).join("\n");
  const asked = readFileSync("docs/deploy/alerts.yaml", "utf8").matchAll(
    /\b(?:zerograph|gen_ai_client)_\w+/g,
  );
  const names = new Set([...asked].map(([name]) => name.replace(/_(?:count|bucket)$/, "")));
  expect(names.size).toBeGreaterThan(4);
  for (const name of names) expect(kept, name).toContain(`"${name}"`);
});

function pagesUnder(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true })
    .map((name) => join(folder, String(name)))
    .filter((name) => name.endsWith(".md"));
}
