import { readFileSync } from "node:fs";
import { buildSchema, getOperationAST, Kind, parse } from "graphql";
import { describe, expect, test } from "vitest";
import { createPolicy } from "../../../gateway/federation/policy/policy.ts";
import { readTrustedDocuments } from "../../../gateway/federation/policy/trusted-documents.ts";
import { readExamples } from "../../../scripts/examples.ts";
import { GRAPH_LIMITS } from "../../../src/graph-limits.ts";

const MANIFEST = "schema/trusted-documents.json";
const schema = buildSchema(readFileSync("schema/api.graphql", "utf8"));
const examples = readExamples(schema);
const { trusted, admit } = createPolicy({
  schema,
  supergraph: readFileSync("schema/supergraph.graphql", "utf8"),
  limits: GRAPH_LIMITS,
  introspection: false,
  trusted: readTrustedDocuments(MANIFEST, true),
});

/** Why an operation is refused, apart from variables that come with each request. */
function faultsOf(verdict: ReturnType<typeof admit>): readonly string[] {
  if ("operation" in verdict) return [];
  return verdict
    .map(({ message }) => message)
    .filter((text) => !/^Variable "\$\w+" is required\.$/.test(text));
}

describe("the example operations", () => {
  test("cover every subscription of the graph, except those that differ from another only in their type", () => {
    const shown = examples.flatMap(({ text }) => {
      const operation = getOperationAST(parse(text));
      const fields = operation?.selectionSet.selections ?? [];
      return operation?.operation === "subscription"
        ? fields.map((field) => (field.kind === Kind.FIELD ? field.name.value : ""))
        : [];
    });
    const all = Object.keys(schema.getSubscriptionType()?.getFields() ?? {});
    const alike = ["tokenTransferred", "orderFulfilled", "imageJobChanged", "batchChanged", "kvChanged"];
    expect([...shown, ...alike].sort()).toEqual(all.sort());
  });

  test.each(examples)(
    "$file is accepted as it is, and by its id where only trusted documents are",
    ({ name, text }) => {
      const id = trusted.all.find((document) => document.text === text)?.id ?? "";
      expect(getOperationAST(parse(text))?.name?.value).toBe(name);
      expect(faultsOf(admit({ query: text }))).toEqual([]);
      expect(faultsOf(admit({ documentId: id }))).toEqual([]);
      expect(admit({ query: `${text} ` })).toMatchObject([{ extensions: { limit: "trustedDocuments" } }]);
    },
  );
});
