import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { buildSchema, parse, print, validate } from "graphql";
import { expect, test } from "vitest";
import { RELAY_EXAMPLE, RELAY_SCHEMA_USE, relayOperations, schemaUse } from "../../scripts/relay-types.ts";

const SOURCES = join(RELAY_EXAMPLE, "src");
const SCHEMA = readFileSync("schema/api.graphql", "utf8");
const REFETCH = /@refetchable\(queryName: "(\w+)"\)/g;

test("the artifacts of the example for Relay are those of its queries", () => {
  const sources = readdirSync(SOURCES).filter((name) => name.endsWith(".tsx"));
  const code = sources.map((name) => readFileSync(join(SOURCES, name), "utf8")).join("");
  const definitions = [...code.matchAll(/graphql`([^`]*)`/g)].flatMap(
    ([, text = ""]) => parse(text).definitions,
  );
  const names = definitions.map((definition) => "name" in definition && definition.name?.value);
  const generated = [...code.matchAll(REFETCH)].map(([, name]) => name);
  const artifacts = readdirSync(join(SOURCES, "__generated__"));
  expect(artifacts.toSorted(), "run npm run relay").toEqual(
    [...names, ...generated].map((name) => `${name}.graphql.ts`).toSorted(),
  );
  for (const [n, definition] of definitions.entries()) {
    // As relay-compiler computes it, which leaves long lists of arguments on one line.
    const printed = print(definition).replaceAll(/\(\n([^()]*)\n *\)/g, (_, lines: string) => {
      return `(${lines.trim().split(/\n */).join(", ")})`;
    });
    const hash = createHash("md5").update(printed).digest("hex");
    const artifact = readFileSync(join(SOURCES, `__generated__/${names[n]}.graphql.ts`), "utf8");
    expect(/hash = "(\w+)"/.exec(artifact)?.[1], `${names[n]}: run npm run relay`).toBe(hash);
  }
});

test("the artifacts of the example for Relay rest on the present schema", () => {
  const operations = relayOperations();
  expect(operations.length).toBe(3);
  const schema = buildSchema(SCHEMA);
  for (const operation of operations) expect(validate(schema, operation)).toEqual([]);
  const recorded = readFileSync(RELAY_SCHEMA_USE, "utf8");
  expect(recorded, "run npm run relay").toBe(schemaUse(SCHEMA, operations));
});
