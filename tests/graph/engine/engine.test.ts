import { parse, printSchema } from "graphql";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createEngine } from "../../../gateway/federation/engine/engine.ts";
import type { Planner } from "../../../gateway/federation/engine/planner.ts";
import { PlanCache } from "../../../gateway/federation/engine/planning/plan-cache.ts";
import type {
  SubgraphExecutor,
  SubgraphRequest,
  SubgraphResult,
} from "../../../gateway/federation/engine/subgraph-executor.ts";
import { composeSupergraph } from "../../../scripts/compose.ts";
import { FEDERATION_LINK } from "../../../subgraphs/shared/schema/build-subgraph.ts";
import { createNativePlanner } from "../../support/native-planner.ts";
import { type Federation, startFederation, type TestContext } from "./support/federation.ts";
import { keys } from "./topics/keys/topic.ts";

const context = { user: "ann" };
let federation: Federation;
beforeAll(async () => {
  federation = await startFederation(keys.subgraphs, "local");
});
afterAll(() => federation.close());

test.each([
  ['"__proto__"', "{ people { __proto__: name quota } }"],
  ['"constructor"', "{ constructor: people { name } }"],
  ['"nope"', "{ nope }"],
])("%s is refused with a reason", async (word, query) => {
  const result = await federation.engine.execute({ document: parse(query), context });
  expect(result).toMatchObject({ errors: [{ extensions: { code: "graphql_refused" } }] });
  expect(result.errors?.[0]?.message).toContain(word);
  expect(result).not.toHaveProperty("data");
});

test("an operation name that the document does not define is refused", async () => {
  const document = parse("query A { people { id } } query B { people { name } }");
  for (const operationName of [undefined, "C"]) {
    const result = await federation.engine.execute({ document, operationName, context });
    expect(result).toMatchObject({ errors: [{ extensions: { code: "graphql_refused" } }] });
  }
});

test("the public schema has no federation types, and it can be printed and parsed", () => {
  const sdl = printSchema(federation.engine.apiSchema);
  expect(sdl).not.toMatch(/join__|link__|_entities|_service|_Any|@key|federation/);
  expect(() => parse(sdl)).not.toThrow();
});

test("a query is planned once: for the same document, the same text, and concurrent requests", async () => {
  const supergraphSdl = composeSupergraph([
    { name: "one", sdl: `${FEDERATION_LINK} type Query { x: Int y: Int }` },
  ]);
  const planned: string[] = [];
  const real = createNativePlanner(supergraphSdl);
  const planner: Planner = {
    plan(text, name, overrides) {
      planned.push(text);
      return real.plan(text, name, overrides);
    },
  };
  const one: SubgraphExecutor<TestContext> = {
    execute: () => ({ data: { x: 1, y: 2 } }),
    subscribe: () => ({ errors: [] }),
    close: async () => {},
  };
  const engine = createEngine({ supergraphSdl, planner, executors: { one } });
  const ask = (text: string, operationName?: string) =>
    engine.execute({ document: parse(text), operationName, context });
  const results = await Promise.all([ask("{ x }"), ask("{x}"), ask("query { x } # again")]);
  expect(results).toEqual(Array(3).fill({ data: { x: 1 } }));
  expect(planned).toHaveLength(1);

  const both = "query A { x } query B { y }";
  expect(await ask(both, "A")).toEqual({ data: { x: 1 } });
  expect(await ask(both, "B")).toEqual({ data: { y: 2 } });
  expect(planned).toHaveLength(3);
});

test.each([
  ["no error", { data: null, errors: [] }],
  ["neither", {}],
])(
  "an answer without data and with %s is an outage, and no null that nothing explains",
  async (_, answer) => {
    const supergraphSdl = composeSupergraph([
      { name: "one", sdl: `${FEDERATION_LINK} type Query { x: Int } type Subscription { y: Int }` },
    ]);
    const one: SubgraphExecutor<TestContext> = {
      execute: () => answer,
      async *subscribe() {
        yield answer;
      },
      close: async () => {},
    };
    const failures: unknown[] = [];
    const engine = createEngine({
      ...{ supergraphSdl, planner: createNativePlanner(supergraphSdl), executors: { one } },
      reportFailure: (subgraph) => void failures.push(subgraph),
    });
    const unavailable = (key: string) => [{ path: [key], extensions: { code: "unavailable" } }];
    const result = await engine.execute({ document: parse("{ x }"), context });
    expect(result).toMatchObject({ data: { x: null }, errors: unavailable("x") });
    const stream = await engine.subscribe({ document: parse("subscription { y }"), context });
    if (!("next" in stream)) throw new Error("refused");
    expect((await stream.next()).value).toMatchObject({ data: { y: null }, errors: unavailable("y") });
    expect(failures).toEqual(["one", "one"]);
  },
);

test("operations that differ only in literals share one plan, and subgraphs get the values as they were written", async () => {
  const supergraphSdl = composeSupergraph([
    { name: "one", sdl: `${FEDERATION_LINK} scalar Big type Query { x(s: String, f: Float, b: Big): Int }` },
  ]);
  const planned: string[] = [];
  const values: unknown[] = [];
  const real = createNativePlanner(supergraphSdl);
  const planner: Planner = {
    plan(text, name, overrides) {
      planned.push(text);
      return real.plan(text, name, overrides);
    },
  };
  const one: SubgraphExecutor<TestContext> = {
    execute({ variables }) {
      values.push(Object.values(variables));
      return { data: { x: 1 } };
    },
    subscribe: () => ({ errors: [] }),
    close: async () => {},
  };
  const engine = createEngine({ supergraphSdl, planner, executors: { one } });
  const ask = (args: string) => engine.execute({ document: parse(`{ x(${args}) }`), context });
  const results = [
    await ask(String.raw`s: "\b", f: 0.1234567890123, b: 115792089237316195423570985008687907853`),
    await ask(String.raw`s: "\u0010", f: 1e300, b: 9223372036854775808`),
    await ask('s: null, f: 1, b: "7"'),
  ];
  expect(results).toEqual(Array(3).fill({ data: { x: 1 } }));
  expect(values).toEqual([
    ["\b", 0.1234567890123, "115792089237316195423570985008687907853"],
    ["\u0010", 1e300, "9223372036854775808"],
    [null, 1, "7"],
  ]);
  expect(planned).toHaveLength(1);
  expect(await ask("f: 1e400")).toMatchObject({ errors: [{ extensions: { code: "invalid_parameter" } }] });
  expect(values).toHaveLength(3);
});

test("a failed plan is tried again, and the cache evicts plans", async () => {
  const cache = new PlanCache<number>({ maxEntries: 2 });
  const fail = () => Promise.reject(new Error("no plan"));
  await expect(cache.get(parse("{ a }"), "", fail)).rejects.toThrow("no plan");
  expect(await cache.get(parse("{ a }"), "", async () => 1)).toBe(1);
  expect(cache.get(parse("{ a }"), "", fail)).toBe(1);
  for (let round = 0; round < 10; round++)
    for (const letter of ["b", "c", "d", "e"]) cache.get(parse(`{ ${letter} }`), "", () => 0);
  expect(cache.get(parse("{ a }"), "", () => 2)).toBe(2);
});

test("the plan cache is bounded by its size, and evicts plans that are not read", () => {
  const cache = new PlanCache<number>({
    ...{ maxEntries: 100, maxBytes: 1_000 },
    bytesOf: (size) => size,
  });
  const document = parse("{ a }");
  // Twice each: a cache that is an eighth full keeps what comes again.
  for (const letter of [..."aabbccddeeffgghhii"]) {
    cache.get(parse(`{ ${letter} }`), "", () => 115);
    expect(cache.get(document, "", () => 1)).toBe(115);
  }
  expect(cache.get(document, "", () => 2)).toBe(115);
  // Of nine with 115 bytes each, eight fit.
  const kept = [..."bcdefghi"].filter((letter) => cache.get(parse(`{ ${letter} }`), "", () => 3) === 115);
  expect(kept.length).toBeLessThan(8);
});

test("plans that send the same request share one parsed document", async () => {
  const supergraphSdl = composeSupergraph([
    { name: "one", sdl: `${FEDERATION_LINK} type Query { a: A } type A @key(fields: "id") { id: ID! }` },
    { name: "two", sdl: `${FEDERATION_LINK} type A @key(fields: "id") { id: ID! n: Int m: Int }` },
  ]);
  const sent: SubgraphRequest<TestContext>[] = [];
  const executor = (data: () => object): SubgraphExecutor<TestContext> => ({
    execute(request) {
      sent.push(request);
      return { data: { ...data() } };
    },
    subscribe: () => ({ errors: [] }),
    close: async () => {},
  });
  const one = executor(() => ({ a: { __typename: "A", id: "1" } }));
  const two = executor(() => ({ _entities: [{ __typename: "A", n: 1, m: 2 }] }));
  const planner = createNativePlanner(supergraphSdl);
  const engine = createEngine({ supergraphSdl, planner, executors: { one, two } });
  for (const query of ["query A { a { n } }", "query B { a { n } }", "query C { a { n m } }"])
    await engine.execute({ document: parse(query), context });
  const [first, entities, again, entitiesAgain, third, others] = sent.map(({ document }) => document);
  expect(again).toBe(first);
  expect(third).toBe(first);
  expect(entitiesAgain).toBe(entities);
  expect(others).not.toBe(entities);
});

test("the abort signal is passed on, and no request is sent after it", async () => {
  const abort = new AbortController();
  const requests: SubgraphRequest<TestContext>[] = [];
  const supergraphSdl = composeSupergraph([
    { name: "one", sdl: `${FEDERATION_LINK} type Query { a: A } type A @key(fields: "id") { id: ID! }` },
    { name: "two", sdl: `${FEDERATION_LINK} type A @key(fields: "id") { id: ID! n: Int }` },
  ]);
  const executor: SubgraphExecutor<TestContext> = {
    execute(request) {
      requests.push(request);
      abort.abort(new Error("the client left"));
      return { data: { a: { __typename: "A", id: "1" } } };
    },
    subscribe: () => ({ errors: [] }),
    close: async () => {},
  };
  const failures: unknown[] = [];
  const engine = createEngine({
    supergraphSdl,
    planner: createNativePlanner(supergraphSdl),
    executors: { one: executor, two: executor },
    reportFailure: (subgraph, reason) => failures.push([subgraph, String(reason)]),
  });
  const { signal } = abort;
  await engine.execute({ document: parse("{ a { n } }"), context, signal });
  expect(requests).toHaveLength(1);
  expect(requests[0]).toMatchObject({ signal, context });
  expect(failures).toEqual([["two", "Error: the client left"]]);
});

test("a null that the schema does not allow is reported, unless an error explains it", async () => {
  const supergraphSdl = composeSupergraph([
    { name: "one", sdl: `${FEDERATION_LINK} type Query { x: Int! y: A } type A { z: Int! }` },
  ]);
  const results: SubgraphResult[] = [
    { data: { y: { z: null } } },
    { data: { y: null }, errors: [{ message: "named", path: ["y", "z"], extensions: { code: "named" } }] },
  ];
  const one: SubgraphExecutor<TestContext> = {
    execute: () => results.shift() ?? {},
    subscribe: () => ({}),
    close: async () => {},
  };
  const reported: string[] = [];
  const engine = createEngine({
    supergraphSdl,
    planner: createNativePlanner(supergraphSdl),
    executors: { one },
    reportViolations: (errors) => reported.push(...errors.map(({ message }) => message)),
  });
  for (const code of ["internal_error", "named"])
    expect(await engine.execute({ document: parse("{ y { z } }"), context })).toMatchObject({
      data: { y: null },
      errors: [{ path: ["y", "z"], extensions: { code } }],
    });
  expect(reported).toEqual(["Cannot return null for non-nullable field A.z."]);
});

test("an incomplete answer is refused", async () => {
  const supergraphSdl = composeSupergraph([{ name: "one", sdl: `${FEDERATION_LINK} type Query { x: Int }` }]);
  const one: SubgraphExecutor<TestContext> = {
    execute: () => ({}),
    subscribe: () => ({}),
    close: async () => {},
  };
  const engine = createEngine({
    supergraphSdl,
    planner: createNativePlanner(supergraphSdl),
    executors: { one },
  });
  const result = await engine.execute({ document: parse("{ x }"), context });
  expect(result).toMatchObject({
    data: { x: null },
    errors: [{ path: ["x"], message: "The one subgraph cannot be reached." }],
  });
});
