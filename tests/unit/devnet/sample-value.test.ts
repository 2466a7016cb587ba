import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { sampleValue } from "../../../src/devnet/provider/samples/sample-value.ts";

const ajv = new Ajv2020({ strict: false });
addFormats.default(ajv);

/** The sample of a schema, which must match it. */
function validSample(schema: object): unknown {
  const sample = sampleValue(schema);
  const matches = ajv.compile(schema);
  expect(matches(sample), `${JSON.stringify(sample)}: ${ajv.errorsText(matches.errors)}`).toBe(true);
  return sample;
}

/** As `model_json_schema()` of Pydantic writes them. */
const PYDANTIC = {
  "nested models and enums": {
    $defs: {
      Step: {
        properties: {
          explanation: { title: "Explanation", type: "string" },
          mood: { $ref: "#/$defs/Mood", default: "calm" },
        },
        required: ["explanation", "mood"],
        title: "Step",
        type: "object",
        additionalProperties: false,
      },
      Mood: { enum: ["calm", "loud"], title: "Mood", type: "string" },
    },
    properties: {
      steps: { items: { $ref: "#/$defs/Step" }, minItems: 2, title: "Steps", type: "array" },
      mood: { allOf: [{ $ref: "#/$defs/Mood" }], description: "How it sounds." },
      kind: { const: "plan", title: "Kind", type: "string" },
    },
    required: ["steps", "mood", "kind"],
    title: "Plan",
    type: "object",
    additionalProperties: false,
  },
  "a recursive model": {
    $defs: {
      Node: {
        properties: {
          name: { title: "Name", type: "string" },
          children: { items: { $ref: "#/$defs/Node" }, title: "Children", type: "array" },
          parent: { anyOf: [{ $ref: "#/$defs/Node" }, { type: "null" }] },
        },
        required: ["name", "children", "parent"],
        title: "Node",
        type: "object",
      },
    },
    $ref: "#/$defs/Node",
  },
  "a discriminated union": {
    $defs: {
      Cat: {
        properties: { kind: { const: "cat", type: "string" }, lives: { type: "integer", minimum: 9 } },
        required: ["kind", "lives"],
        type: "object",
      },
      Dog: { properties: { kind: { const: "dog", type: "string" } }, required: ["kind"], type: "object" },
    },
    properties: {
      pet: {
        discriminator: { mapping: { cat: "#/$defs/Cat", dog: "#/$defs/Dog" }, propertyName: "kind" },
        oneOf: [{ $ref: "#/$defs/Cat" }, { $ref: "#/$defs/Dog" }],
      },
    },
    required: ["pet"],
    type: "object",
  },
  "constrained fields": {
    properties: {
      age: { type: "integer", exclusiveMinimum: 17, maximum: 120 },
      share: { type: "number", exclusiveMinimum: 0, exclusiveMaximum: 1 },
      even: { type: "integer", minimum: 9, multipleOf: 4 },
      code: { type: "string", minLength: 20, maxLength: 22 },
      short: { type: "string", maxLength: 3 },
      at: { type: "string", format: "date-time" },
      day: { type: "string", format: "date" },
      id: { type: "string", format: "uuid" },
      mail: { type: "string", format: "email" },
      site: { type: "string", format: "uri", minLength: 1, maxLength: 2_083 },
      host: { type: "string", format: "ipv4" },
      lasts: { type: "string", format: "duration" },
      labels: { type: "array", items: { type: "string" }, minItems: 3, uniqueItems: true },
      grid: { type: "array", minItems: 2, items: { type: "array", minItems: 2, items: { type: "integer" } } },
      pair: {
        type: "array",
        ...{ minItems: 2, maxItems: 2, prefixItems: [{ type: "string" }, { type: "integer" }] },
      },
      scores: { type: "object", additionalProperties: { type: "integer" }, minProperties: 2 },
      either: { anyOf: [{ type: "integer" }, { type: "string" }, { type: "null" }], default: null },
      listed: { type: ["string", "null"] },
      any: { title: "Any" },
    },
    required: ["age", "share", "even", "code", "short", "labels", "grid", "pair", "scores", "undeclared"],
    type: "object",
  },
};

describe("a sample matches the schema that Pydantic writes of", () => {
  test.each(Object.entries(PYDANTIC))("%s", (_, schema) => {
    expect(validSample(schema)).toEqual(expect.any(Object));
  });

  test("nested models, with every member", () => {
    const step = { explanation: expect.any(String), mood: "calm" };
    expect(validSample(PYDANTIC["nested models and enums"])).toEqual({
      steps: [step, step],
      ...{ mood: "calm", kind: "plan" },
    });
    expect(validSample(PYDANTIC["a recursive model"])).toEqual({
      name: expect.any(String),
      ...{ children: [], parent: null },
    });
  });
});

const tree = z.object({
  name: z.string(),
  get children() {
    return z.array(tree);
  },
  get next() {
    return tree.optional();
  },
});

describe("a sample is parsed by the zod schema of", () => {
  test.each([
    ["a recursive object", tree],
    ["a recursive member", z.object({ tree, nullable: tree.nullable() })],
    ["formats", z.object({ a: z.email(), b: z.uuid(), c: z.url(), d: z.iso.datetime(), e: z.iso.date() })],
    ["addresses and bytes", z.object({ a: z.ipv4(), b: z.ipv6(), c: z.base64(), d: z.iso.duration() })],
    ["numbers", z.object({ a: z.int().min(12), b: z.number().gt(3).lt(4), c: z.int().lt(-5) })],
    [
      "a tuple and a record",
      z.object({ a: z.tuple([z.string(), z.int()]), b: z.record(z.string(), z.int()) }),
    ],
    ["a record of known names", z.record(z.enum(["one", "two"]), z.boolean())],
    ["an intersection", z.object({ a: z.string() }).and(z.object({ b: z.enum(["x", "y"]) }))],
    [
      "a discriminated union",
      z.discriminatedUnion("kind", [z.object({ kind: z.literal("a") }), z.object({ kind: z.literal("b") })]),
    ],
    ["texts of a length", z.object({ a: z.string().length(4), b: z.string().min(40), c: z.literal(null) })],
  ])("%s", (_, type) => {
    for (const target of ["draft-2020-12", "draft-7"] as const) {
      const sample = sampleValue(z.toJSONSchema(type, { target }));
      expect(type.safeParse(sample)).toMatchObject({ success: true });
    }
  });
});

describe("a sample matches", () => {
  test.each([
    [
      "references to the whole",
      { type: "object", properties: { a: { type: "array", items: { $ref: "#" } } } },
    ],
    [
      "references of references, with escaped names",
      {
        definitions: { "a/b": { $ref: "#/definitions/c~0%20d" }, "c~ d": { type: "integer" } },
        $ref: "#/definitions/a~1b",
      },
    ],
    [
      "a recursion that only another choice ends",
      {
        $defs: {
          Sum: { type: "object", properties: { left: { $ref: "#/$defs/Any" } }, required: ["left"] },
          Any: { anyOf: [{ $ref: "#/$defs/Sum" }, { type: "number" }] },
        },
        $ref: "#/$defs/Any",
      },
    ],
    [
      "an optional recursion, which is left out",
      {
        type: "object",
        properties: { name: { type: "string" }, next: { $ref: "#" } },
        required: ["name"],
      },
    ],
    [
      "parts that limit each other",
      {
        allOf: [
          { type: ["string", "integer"], minimum: 3 },
          { type: ["number", "null"], anyOf: [{ maximum: 1 }, { maximum: 5 }] },
        ],
      },
    ],
    ["a choice that its type excludes", { type: "string", enum: [null, 1, "one"] }],
    ["a required member that nothing describes", { type: "object", required: ["a"] }],
  ])("%s", (_, schema) => {
    validSample(schema);
  });

  test("required members twenty levels deep", () => {
    let schema: object = { type: "integer" };
    for (let n = 0; n < 20; n++)
      schema = { type: "object", properties: { a: schema, b: { type: "string" } }, required: ["a"] };
    validSample(schema);
  });
});

describe("the time and the size of a sample are bounded with", () => {
  const names = Array.from({ length: 40 }, (_, n) => `N${n}`);
  const everyOther = (others: object) =>
    Object.fromEntries(names.map((name) => [name, { type: "object", ...others }]));
  const references = Object.fromEntries(names.map((name) => [name, { $ref: `#/$defs/${name}` }]));
  const doubled = Object.fromEntries(
    names.map((name, n) => {
      const next = n === 39 ? { type: "integer" } : { $ref: `#/$defs/N${n + 1}` };
      return [name, { type: "object", properties: { a: next, b: next }, required: ["a", "b"] }];
    }),
  );
  const deep = (depth: number): object => (depth === 0 ? {} : { allOf: [deep(depth - 1)] });

  test.each([
    [
      "definitions that all refer to each other",
      { $defs: everyOther({ properties: references }), ...{ $ref: "#/$defs/N0" } },
    ],
    [
      "the same, required",
      { $defs: everyOther({ properties: references, required: names }), $ref: "#/$defs/N0" },
    ],
    ["members that double forty times", { $defs: doubled, $ref: "#/$defs/N0" }],
    ["a billion items", { type: "array", items: { type: "integer" }, minItems: 1e9 }],
    ["a billion members", { type: "object", minProperties: 1e9 }],
    ["a billion characters", { type: "string", minLength: 1e9 }],
    ["many long texts", { type: "array", minItems: 9_000, items: { type: "string", minLength: 90_000 } }],
    ["a reference to itself", { $defs: { A: { $ref: "#/$defs/A" } }, $ref: "#/$defs/A" }],
    ["a reference to nothing", { type: "object", properties: { a: { $ref: "#/$defs/A" } } }],
    ["a reference to elsewhere", { $ref: "https://example.com/schema" }],
    ["deep parts", deep(1_000)],
    [
      "wide choices",
      { allOf: names.map(() => ({ anyOf: names.map(() => ({ type: "object", required: ["a"] })) })) },
    ],
  ])("%s", (_, schema) => {
    const start = performance.now();
    expect(JSON.stringify(sampleValue(schema)).length).toBeLessThan(1_000_000);
    expect(performance.now() - start).toBeLessThan(5_000);
  });
});
