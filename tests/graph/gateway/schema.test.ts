import {
  buildSchema,
  type GraphQLField,
  type GraphQLInputField,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isIntrospectionType,
  isObjectType,
  isSpecifiedScalarType,
} from "graphql";
import { describe, expect, test } from "vitest";
import { readSupergraph } from "../../../gateway/federation/engine/planning/api-schema.ts";
import { generateSchema, objectionsTo, staleFiles } from "../../../scripts/schema.ts";
import { compareSchemas } from "../../../scripts/schema-changes.ts";
import { lintSchema, SCHEMA_RULES } from "../../../scripts/schema-lint/schema-lint.ts";
import { modules } from "../../../subgraphs/modules.ts";

const generated = generateSchema();
const { api } = readSupergraph(generated.get("supergraph.graphql") ?? "");
const types = Object.values(api.getTypeMap()).filter(
  (type) => !isIntrospectionType(type) && !isSpecifiedScalarType(type),
);

type Member = {
  readonly kind: "field" | "argument" | "value";
  readonly path: string;
  readonly name: string;
  readonly description?: string | null | undefined;
  readonly type?: object;
};

/** Every named part of every type of the public schema. */
const members = types.flatMap((type): readonly Member[] => {
  const path = (name: string) => `${type.name}.${name}`;
  if (isEnumType(type))
    return type
      .getValues()
      .map(({ name, description }) => ({ kind: "value", path: path(name), name, description }));
  if (!isObjectType(type) && !isInterfaceType(type) && !isInputObjectType(type)) return [];
  const fields: readonly GraphQLField<unknown, unknown>[] | readonly GraphQLInputField[] = Object.values(
    type.getFields(),
  );
  return fields.flatMap((field): readonly Member[] => {
    const args = "args" in field ? field.args : [];
    return [
      { ...field, kind: "field", path: path(field.name) },
      ...args.map((arg) => ({ ...arg, kind: "argument" as const, path: `${path(field.name)}(${arg.name})` })),
    ];
  });
});

describe("the committed schema", () => {
  test("is what the code generates", () => {
    expect(staleFiles()).toEqual([]);
  });

  test("is deterministic", () => {
    expect([...generateSchema()]).toEqual([...generated]);
  });

  test("is composed of every subgraph", () => {
    const paths = modules.map(({ name }) => `subgraphs/${name}.graphql`);
    const others = [
      "supergraph.graphql",
      "api.graphql",
      "trusted-documents.json",
      "openapi.json",
      "events.json",
    ];
    expect([...generated.keys()]).toEqual([...paths, ...others]);
  });
});

describe("the public schema", () => {
  test("follows every rule of schema/rules.md", () => {
    expect(lintSchema(api)).toEqual([]);
  });

  test("is not overwritten by one that breaks clients, unless that is requested", () => {
    const before = `${generated.get("api.graphql")}
      type Gone { "A field." id: ID! }
      extend type Query { "What is gone." gone: Gone }
    `;
    const broken = objectionsTo(generated, { before });
    expect(broken).toEqual(["FIELD_REMOVED: Query.gone was removed.", "TYPE_REMOVED: Gone was removed."]);
    expect(objectionsTo(generated, { before, allowBreaking: true })).toEqual([]);
    expect(objectionsTo(generated)).toEqual([]);
  });

  test("never represents money as a number", () => {
    const floats = members.filter(({ type }) => String(type).includes("Float"));
    // The progress of a job, durations, and the temperature of a transcription are not money.
    const plain =
      /\.fraction$|^RankedDocument\.relevanceScore$|^CreateSpeechInput\.speed$|^Transcription\.durationSeconds$|^TranscriptionWord\.|\.temperature$|\.eventLoopDelayP\d\dMs$|\.oldest\w+Seconds$/;
    const paths = floats.map(({ path }) => path).filter((path) => !plain.test(path));
    expect(paths).toEqual([]);
  });

  test("hides what only a supergraph needs", () => {
    expect(generated.get("supergraph.graphql")).toMatch(
      /balance: Balance .*@requiresScopes\(scopes: \[\["account:read"\]\]\)/,
    );
    expect(generated.get("api.graphql")).not.toContain("@requiresScopes");
    expect(generated.get("api.graphql")).not.toContain("_entities");
  });
});

describe("a change of the public schema", () => {
  const BASE = `type Query { "A." a(b: Int): Kind, c: Int! } enum Kind { ONE TWO } input In { x: Int } type T { in(i: In): Int }`;
  test.each([
    ["a removed field", "c: Int!", "", ["FIELD_REMOVED: Query.c was removed."], 0],
    [
      "one that may now be null",
      "c: Int!",
      "c: Int",
      ["FIELD_CHANGED_KIND: Query.c changed type from Int! to Int."],
      0,
    ],
    [
      "an argument that is now required",
      "b: Int",
      "b: Int!",
      [expect.stringContaining("ARG_CHANGED_KIND")],
      0,
    ],
    ["a member of an input that is required", "x: Int", "x: Int y: Int!", [expect.stringContaining("y")], 0],
    ["a removed value", "ONE TWO", "ONE", [expect.stringContaining("TWO was removed")], 0],
    ["a new value is only a warning", "ONE TWO", "ONE TWO THREE", [], 1],
    ["a new field breaks nothing", "c: Int!", "c: Int! d: Int", [], 0],
    ["nor does one that is no longer nullable", "b: Int): Kind", "b: Int): Kind!", [], 0],
  ])("%s", (_, from, to, breaking, dangerous) => {
    const changes = compareSchemas(BASE, BASE.replace(from, to));
    expect(changes.breaking).toEqual(breaking);
    expect(changes.dangerous).toHaveLength(dangerous);
  });

  test("what is deprecated is removed on its day, and not before, whatever is requested", () => {
    const before = `type Query { "A." a: Int "Old." old: Int @deprecated(reason: "Removed on 2027-01-31. Use \`a\`.") }`;
    const after = 'type Query { "A." a: Int }';
    const early = ["REMOVED_EARLY: Query.old stays deprecated until 2027-01-31."];
    expect(compareSchemas(before, after, "2027-01-30").early).toEqual(early);
    expect(compareSchemas(before, after, "2027-01-31").early).toEqual([]);
    expect(compareSchemas(before, before, "2027-01-30").early).toEqual([]);
    const api = generated.get("api.graphql") ?? "";
    const withOld = `${api} extend type Query { "Old." old: Int @deprecated(reason: "Removed on 9998-01-31. Use \`node\`.") }`;
    expect(objectionsTo(generated, { before: withOld, allowBreaking: true })).toEqual([
      "REMOVED_EARLY: Query.old stays deprecated until 9998-01-31.",
    ]);
  });

  test("a name in the wrong spelling, and a missing description, are reported", () => {
    const odd = buildSchema(
      'type Query { "Ends here." Bad_name("An argument." Arg: Int): other } enum other { lower }',
    );
    expect(SCHEMA_RULES.elementsAreSpeltAndDescribed?.(odd)).toEqual([
      "Query has no description that ends with a period",
      "Query.Bad_name does not follow the field naming rule",
      "Query.Bad_name(Arg) does not follow the argument naming rule",
      "other does not follow the type naming rule",
      "other has no description that ends with a period",
      "other.lower does not follow the value naming rule",
      "other.lower has no description that ends with a period",
    ]);
  });
});
