import fc from "fast-check";
import { parse } from "graphql";
import { describe, expect, test } from "vitest";
import { measureDocument } from "../../../gateway/federation/policy/measure.ts";

const measure = (query: string) => measureDocument(parse(query));

/** A selection set as text, and the same with each part of it in a fragment of its own. */
type Twice = { readonly inline: string; readonly spread: string; readonly fragments: string };

const { set } = fc.letrec<{ set: Twice }>((tie) => ({
  set: fc
    .array(
      fc.record({
        alias: fc.constantFrom("", "a: ", "b: "),
        name: fc.constantFrom("x", "y", "__schema", "__type"),
        directive: fc.constantFrom("", " @d", " @d @e"),
        inner: fc.option(tie("set"), { nil: undefined, maxDepth: 4, depthSize: "small" }),
        isFragment: fc.boolean(),
        id: fc.uuid(),
      }),
      { minLength: 1, maxLength: 3 },
    )
    .map((fields) => {
      let fragments = "";
      const both = fields.map(({ alias, name, directive, inner, isFragment, id }) => {
        const field = (body: string | undefined) =>
          `${alias}${name}${directive}${body ? ` { ${body} }` : ""}`;
        fragments += inner?.fragments ?? "";
        if (!isFragment) return { inline: field(inner?.inline), spread: field(inner?.spread) };
        const fragment = `f${id.replaceAll("-", "")}`;
        fragments += `fragment ${fragment} on T { ${field(inner?.spread)} } `;
        return { inline: `... on T { ${field(inner?.inline)} }`, spread: `...${fragment}` };
      });
      return {
        inline: both.map(({ inline }) => inline).join(" "),
        spread: both.map(({ spread }) => spread).join(" "),
        fragments,
      };
    }),
}));

describe("the measures of a document", () => {
  test("are the same with its parts in fragments as written out, but for repeats across fragments", () => {
    fc.assert(
      fc.property(set, ({ inline, spread, fragments }) => {
        const { repeats: written, ...expected } = measure(`{ ${inline} }`);
        const { repeats: found, ...measured } = measure(`{ ${spread} } ${fragments}`);
        expect(measured).toEqual(expected);
        expect(found).toBeLessThanOrEqual(written);
      }),
      { numRuns: 300 },
    );
  });

  test("count every field, alias, directive and variable where it is used", () => {
    const query = `query ($v: Int, $w: Int) @o @p {
      a: x @d { b: y @d @e  z }
      ... @i { c: x }
      ...f @s
      __schema { types { name } }
    } fragment f on T { d: x { e: y @d } }`;
    expect(measure(query)).toEqual({
      depth: 2,
      introspectionDepth: 3,
      aliases: 5,
      rootFields: 4,
      directives: 8,
      fields: 9,
      repeats: 1,
      variables: 2,
      cycles: 0,
    });
  });

  test("count a fragment as often as it is spread", () => {
    const measured = measure("{ ...f ...f x { ...f } } fragment f on T { a: y @d { z } }");
    expect(measured).toMatchObject({ fields: 7, aliases: 3, directives: 3, rootFields: 3, depth: 3 });
  });

  test("are the largest of any operation, and not of an unused fragment", () => {
    const query =
      "query a { x { x { x } } } query b ($v: Int) { a: x b: x c: x @d } fragment f on T { x { x { x { x } } } }";
    expect(measure(query)).toMatchObject({
      depth: 3,
      aliases: 3,
      rootFields: 3,
      directives: 1,
      fields: 3,
      variables: 1,
    });
  });

  test("count how often one response key is selected in a place, under its alias", () => {
    expect(measure("{ x x: y z { x } }").repeats).toBe(2);
    expect(measure("{ a: x b: x x }").repeats).toBe(1);
    expect(measure("{ x ... { x ... on T { x } } }").repeats).toBe(3);
    expect(measure("{ z { x x x } x }").repeats).toBe(3);
    expect(measure("{ ...f y } fragment f on T { x x }").repeats).toBe(2);
  });

  test("have the depth of introspection apart from that of data", () => {
    expect(measure('{ __type(name: "a") { a { b } } x }')).toMatchObject({ depth: 1, introspectionDepth: 3 });
    expect(measure("{ x { __schema { a } } }")).toMatchObject({ depth: 1, introspectionDepth: 2 });
    expect(measure("{ ...f } fragment f on T { __schema { a { b } } }")).toMatchObject({
      introspectionDepth: 3,
    });
    expect(measure("{ x { __typename } }")).toMatchObject({ depth: 2, introspectionDepth: 0 });
  });

  test("of a document without operations are zero", () => {
    expect(Object.values(measure("fragment f on T { x }")).every((value) => value === 0)).toBe(true);
  });
});

describe("a fragment that spreads itself", () => {
  test.each([
    ["directly", "{ ...f } fragment f on T { x ...f }"],
    ["through another", "{ ...f } fragment f on T { ...g } fragment g on T { x { ...f } }"],
    ["although nothing uses it", "{ x } fragment f on T { ...f }"],
  ])("%s is a cycle", (_how, query) => {
    expect(measure(query).cycles).toBeGreaterThan(0);
  });

  test("is not one that is spread twice, or does not exist", () => {
    expect(measure("{ ...f ...g ...none } fragment f on T { ...g } fragment g on T { x }").cycles).toBe(0);
  });
});

test("fragments that double each other are measured in the time of their text", () => {
  const count = 60;
  const fragments = Array.from(
    { length: count },
    (_, n) => `fragment f${n} on T { x ...f${n + 1} ...f${n + 1} }`,
  );
  const { fields } = measure(`{ ...f0 } ${fragments.join(" ")} fragment f${count} on T { x }`);
  expect(fields).toBe(2 ** (count + 1) - 1);
});
