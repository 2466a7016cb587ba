import { globSync, readFileSync } from "node:fs";
import { buildSchema, type DocumentNode, parse, TypeInfo, visit, visitWithTypeInfo } from "graphql";
import { describe, expect, test } from "vitest";
import { contentsOf } from "../../../gateway/federation/engine/document/contents.ts";
import { visitSelections } from "../../../gateway/federation/engine/document/typed-selections.ts";

const SCHEMA = buildSchema(readFileSync("schema/api.graphql", "utf8"));
const DOCUMENTS = [
  ...globSync("schema/examples/*.graphql").map((file) => readFileSync(file, "utf8")),
  `query A($first: Int = 3 @tagged, $id: ID!) @traced {
     __typename __schema { types { name kind } } __type(name: "Account") { name fields { name } }
     node(id: $id) { __typename id ... on ApiKey { name } ...Request @defer(label: "later") ... @include(if: true) { id } } }
   fragment Request on InferenceRequest @late { status same: id }`,
  `{ viewer { account { id requests { nodes { id } } } } }`,
  `subscription { balanceChanged { id } }`,
].map((text) => parse(text));

describe("the walks over a document find what those of graphql-js find", () => {
  test("selections, with the types that they are made on and the definitions of fields", () => {
    let selections = 0;
    for (const document of DOCUMENTS) {
      const ours: unknown[] = [];
      for (const definition of document.definitions)
        visitSelections(SCHEMA, definition, (node, parent, field) =>
          ours.push([node, parent.name, field?.name]),
        );
      expect(ours).toEqual(selectionsIn(document));
      selections += ours.length;
    }
    expect(selections).toBeGreaterThan(200);
  });

  test("directives, response keys, aliases and fragments", () => {
    for (const document of DOCUMENTS) {
      const { directives, responseKeys, hasAliases, hasFragments } = contentsOf(document);
      const found = contentsIn(document);
      expect(new Set(directives)).toEqual(found.directives);
      expect([...responseKeys].sort()).toEqual([...found.keys].sort());
      expect({ hasAliases, hasFragments }).toEqual({
        hasAliases: found.aliases > 0,
        hasFragments: found.fragments > 0,
      });
    }
    expect(DOCUMENTS.map((document) => contentsOf(document).directives.length)).toContain(5);
    expect(new Set(DOCUMENTS.map((document) => contentsOf(document).hasAliases)).size).toBe(2);
    expect(new Set(DOCUMENTS.map((document) => contentsOf(document).hasFragments)).size).toBe(2);
  });
});

function selectionsIn(document: DocumentNode): readonly unknown[] {
  const found: unknown[] = [];
  const types = new TypeInfo(SCHEMA);
  /** The types of the selection sets around a node. */
  const outer: (string | undefined)[] = [];
  visit(
    document,
    visitWithTypeInfo(types, {
      Field: (node) => void found.push([node, types.getParentType()?.name, types.getFieldDef()?.name]),
      FragmentSpread: (node) => void found.push([node, types.getParentType()?.name, undefined]),
      // The type is the fragment's own by now.
      InlineFragment: (node) => void found.push([node, outer.at(-1), undefined]),
      SelectionSet: {
        enter: () => void outer.push(types.getParentType()?.name),
        leave: () => void outer.pop(),
      },
    }),
  );
  return found;
}

function contentsIn(document: DocumentNode) {
  const found = { directives: new Set<unknown>(), keys: new Set<string>(), aliases: 0, fragments: 0 };
  const addFragment = () => {
    found.fragments += 1;
  };
  visit(document, {
    Directive: (node) => void found.directives.add(node),
    Field({ alias, name }) {
      found.keys.add((alias ?? name).value);
      if (alias) found.aliases += 1;
    },
    ...{ FragmentSpread: addFragment, InlineFragment: addFragment, FragmentDefinition: addFragment },
  });
  return found;
}
