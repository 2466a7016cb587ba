import {
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
import { readSupergraph } from "../../gateway/engine/api-schema.ts";
import { generateSchema, staleFiles } from "../../scripts/schema.ts";
import { modules } from "../../subgraphs/modules.ts";

const generated = generateSchema();
const { api } = readSupergraph(generated.get("supergraph.graphql") ?? "");
const roots = new Set([api.getQueryType(), api.getMutationType(), api.getSubscriptionType()]);
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

/** Everything that has a name of its own within a type of the public schema. */
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
  test("is what the code says", () => {
    expect(staleFiles()).toEqual([]);
  });

  test("comes out the same when it is made again", () => {
    expect([...generateSchema()]).toEqual([...generated]);
  });

  test("is composed of every subgraph", () => {
    const paths = modules.map(({ name }) => `subgraphs/${name}.graphql`);
    const others = ["supergraph.graphql", "api.graphql", "openapi.json", "events.json"];
    expect([...generated.keys()]).toEqual([...paths, ...others]);
  });
});

describe("the public schema", () => {
  test("describes every type, field, argument and value", () => {
    const named = types
      .filter((type) => !isObjectType(type) || !roots.has(type))
      .map((type) => ({ ...type, path: type.name }));
    const silent = [...named, ...members]
      .filter(({ description }) => !description?.endsWith("."))
      .map(({ path }) => path);
    expect(silent).toEqual([]);
  });

  test("spells types in PascalCase, values in capitals, and everything else in camelCase", () => {
    const odd = members.filter(({ kind, name }) =>
      kind === "value" ? !/^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$/.test(name) : !/^[a-z][a-zA-Z0-9]*$/.test(name),
    );
    expect(types.map(({ name }) => name).filter((name) => !/^[A-Z][a-zA-Z0-9]*$/.test(name))).toEqual([]);
    expect(odd.map(({ path }) => path)).toEqual([]);
  });

  test("never counts money as a number", () => {
    const floats = members.filter(({ type }) => String(type).includes("Float"));
    // How far a job has come is no money.
    const paths = floats.map(({ path }) => path).filter((path) => !path.endsWith(".fraction"));
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
