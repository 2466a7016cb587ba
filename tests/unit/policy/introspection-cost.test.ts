import { buildSchema, getIntrospectionQuery, type OperationDefinitionNode, parse } from "graphql";
import { describe, expect, test } from "vitest";
import { createIntrospectionCheck } from "../../../gateway/federation/policy/introspection-cost.ts";

const ARGUMENTS = Array.from({ length: 30 }, (_, n) => `a${n}: Int`).join(" ");
const schema = buildSchema(`
  type Query { ${Array.from({ length: 6 }, (_, n) => `field${n}(input: Input, ${ARGUMENTS}): Int`).join(" ")} }
  input Input { ${Array.from({ length: 60 }, (_, n) => `member${n}: Int`).join(" ")} }
  enum Kind { ${Array.from({ length: 60 }, (_, n) => `VALUE_${n}`).join(" ")} }
`);
const check = createIntrospectionCheck(schema);

/** Whether the first operation of a document costs too much. */
function isRefused(query: string): boolean {
  const document = parse(query);
  const operation = document.definitions.find(
    (one): one is OperationDefinitionNode => one.kind === "OperationDefinition",
  );
  if (!operation) throw new Error("the document has an operation");
  return check(document, operation);
}

/** How many copies of a selection under a root field are the first to cost too much, at most 4,000. */
function refusedAt(selection: string, fragments = "", rootField = "__schema"): number {
  let [low, high] = [0, 4_000];
  while (high - low > 1) {
    const copies = Math.floor((low + high) / 2);
    const aliases = Array.from({ length: copies }, (_, n) => `a${n}: ${selection}`).join(" ");
    if (isRefused(`{ ${rootField} { ${aliases} } } ${fragments}`)) high = copies;
    else low = copies;
  }
  return high;
}

describe("introspection", () => {
  test("may cost one and a half times the fullest standard query", () => {
    const standard = getIntrospectionQuery({
      inputValueDeprecation: true,
      schemaDescription: true,
      specifiedByUrl: true,
    });
    expect(isRefused(standard)).toBe(false);
    expect(isRefused(getIntrospectionQuery())).toBe(false);
    const twice = standard
      .replace("__schema", "one: __schema")
      .replace("query IntrospectionQuery {", (start) => {
        return `${start} two: __schema { types { ...FullType } }`;
      });
    expect(isRefused(twice)).toBe(true);
  });

  test.each([
    ["types", "types { name }", "queryType { name }"],
    ["fields", "types { fields { name } }", "types { ofType { name } }"],
    ["arguments", "types { fields { args { name } } }", "types { fields { type { name } } }"],
    ["input fields", "types { inputFields { name } }", "types { ofType { name } }"],
    ["enum values", "types { enumValues { name } }", "types { ofType { name } }"],
    ["directives", "directives { name }", "queryType { name }"],
  ])("costs the usual length of each list, more than one of its items: %s", (_what, list, item) => {
    expect(refusedAt(list)).toBeLessThan(refusedAt(item) / 1.2);
  });

  test("costs the same in fragments as written out, wherever they are spread", () => {
    const written = refusedAt("types { fields { name args { name } } }");
    expect(written).toBeGreaterThan(1);
    expect(refusedAt("types { ...F }", "fragment F on __Type { fields { name args { name } } }")).toBe(
      written,
    );
    expect(refusedAt("types { ... { fields { ... on __Field { name args { name } } } } }")).toBe(written);
    const atTheRoot = (copies: number) =>
      `{ ...R } fragment R on Query { __schema { ${"x: types { fields { name args { name } } } ".repeat(copies)} } }`;
    expect([written - 1, written].map((copies) => isRefused(atTheRoot(copies)))).toEqual([false, true]);
  });

  test("costs the same under __type", () => {
    const fields = "fields { name args { name } }";
    expect(refusedAt(fields, "", '__type(name: "Query")')).toBe(refusedAt(fields));
  });

  test("costs what each of several selections costs", () => {
    const half = refusedAt("types { fields { args { name } } }") - 1;
    const copies = (field: string) =>
      Array.from({ length: half }, (_, n) => `${field}${n}: types { fields { args { name } } }`).join(" ");
    expect(isRefused(`{ __schema { ${copies("a")} } }`)).toBe(false);
    expect(isRefused(`{ one: __schema { ${copies("a")} } two: __schema { ${copies("b")} } }`)).toBe(true);
    expect(
      isRefused(`{ __schema { ...A ... { ${copies("b")} } } } fragment A on __Schema { ${copies("a")} }`),
    ).toBe(true);
  });

  test("is free outside of introspection: data, and fields of the same names", () => {
    const data = Array.from({ length: 500 }, (_, n) => `a${n}: types { fields { args { name } } }`).join(" ");
    expect(isRefused(`{ ${data} ...F ... { ${data} } } fragment F on Query { ${data} }`)).toBe(false);
    expect(isRefused("{ ...none __typename }")).toBe(false);
  });

  test("a fragment costs something inside of introspection even if it was spread outside first", () => {
    const many = Array.from({ length: 500 }, (_, n) => `a${n}: fields { args { name } }`).join(" ");
    const fragment = `fragment F on X { ${many} }`;
    expect(isRefused(`{ ...F __schema { types { name } } } ${fragment}`)).toBe(false);
    expect(isRefused(`{ ...F __schema { types { ...F } } } ${fragment}`)).toBe(true);
  });

  test("of a schema without any fields has a price", () => {
    const empty = createIntrospectionCheck(buildSchema("scalar Alone"));
    const document = parse(
      `{ __schema { ${Array.from({ length: 500 }, (_, n) => `a${n}: types { name }`).join(" ")} } }`,
    );
    expect(empty(document, document.definitions[0] as OperationDefinitionNode)).toBe(true);
  });

  test("fragments that double each other are priced in the time of their text", () => {
    const fragments = Array.from(
      { length: 60 },
      (_, n) => `fragment f${n} on X { ...f${n + 1} ...f${n + 1} }`,
    );
    expect(isRefused(`{ __schema { ...f0 } } ${fragments.join(" ")} fragment f60 on X { name }`)).toBe(true);
  });
});
