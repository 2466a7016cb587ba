import { readFileSync } from "node:fs";
import { buildSchema, getIntrospectionQuery } from "graphql";
import { expect, test } from "vitest";
import { createPolicy } from "../../../gateway/federation/policy/policy.ts";
import { GRAPH_LIMITS } from "../../../src/graph-limits.ts";

const { admit } = createPolicy({
  schema: buildSchema(readFileSync("schema/api.graphql", "utf8")),
  supergraph: readFileSync("schema/supergraph.graphql", "utf8"),
  limits: GRAPH_LIMITS,
  introspection: true,
});
const limitOf = (query: string) => {
  const verdict = admit({ query });
  return "document" in verdict ? undefined : verdict[0]?.extensions.limit;
};
const TYPE = "{ kind name ofType { kind name ofType { kind name } } }";
const FULL = `{ name description fields { name description args { name type ${TYPE} } type ${TYPE} } }`;
const aliases = (field: string) => Array.from({ length: 14 }, (_, n) => `a${n}: ${field}`).join(" ");

test("the introspection queries of common tools are answered", () => {
  expect(limitOf(getIntrospectionQuery())).toBeUndefined();
  expect(
    limitOf(
      getIntrospectionQuery({
        inputValueDeprecation: true,
        schemaDescription: true,
        specifiedByUrl: true,
        directiveIsRepeatable: true,
        oneOf: true,
      }),
    ),
  ).toBeUndefined();
  expect(limitOf('{ __type(name: "Account") { name fields { name type { name } } } }')).toBeUndefined();
});

test.each([
  ["aliases of its types", `{ __schema { ${aliases(`types ${FULL}`)} } }`],
  [
    "aliases of the schema",
    `{ ${Array.from({ length: 9 }, (_, n) => `a${n}: __schema { types ${FULL} }`).join(" ")} }`,
  ],
  [
    "aliases of fields within fields",
    `{ __schema { types { fields { type { ${aliases("fields { name args { name } }")} } } } } }`,
  ],
  ["aliases in a fragment", `{ __schema { ${aliases("types { ...F }")} } } fragment F on __Type ${FULL}`],
])("introspection that multiplies by %s is refused", (_, query) => {
  expect(limitOf(query)).toBe("introspection");
});

test("a document nested beyond the parser's limit is refused by name", () => {
  const nested = (depth: number) => `{ account(address: ${"[".repeat(depth)}${"]".repeat(depth)}) { id } }`;
  expect([limitOf(nested(300)), limitOf(nested(20_000))]).toEqual(["nesting", "nesting"]);
  expect(limitOf(`{ __typename # ${"[".repeat(1_000)}\n }`)).toBeUndefined();
});
