import { parse } from "graphql";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { isInParts } from "../../../gateway/federation/engine/incremental/parts.ts";
import { startFederation } from "./support/federation.ts";
import { mergeParts } from "./support/parts.ts";
import { createSlowPeople, PEOPLE } from "./support/slow-people.ts";
import { keys } from "./topics/keys/topic.ts";

const context = { user: "ann" };
const { subgraphs, events, hold } = createSlowPeople();

let federation: Awaited<ReturnType<typeof startFederation>>;
beforeAll(async () => {
  federation = await startFederation(subgraphs, "local");
});
afterAll(() => federation.close());
beforeEach(() => {
  events.length = 0;
  federation.asked.length = 0;
  hold()();
});

const run = (query: string, variables = {}, signal?: AbortSignal) =>
  Promise.resolve(
    federation.engine.executeIncrementally({ document: parse(query), variables, context, signal }),
  );

async function inParts(query: string, variables = {}) {
  const result = await run(query, variables);
  if (!isInParts(result)) throw new Error(`delivered at once: ${JSON.stringify(result)}`);
  return result;
}

test("the first part is complete before the slow subgraph is asked, and the fragment follows its answer", async () => {
  const open = hold();
  const { first, pending, rest } = await inParts(`{ person { name ... @defer(label: "more") { score } } }`);
  expect(first).toEqual({ data: { person: { name: "name 1" } } });
  expect(pending).toEqual([{ id: "0", path: ["person"], label: "more" }]);
  expect(events).toEqual([]);
  const next = rest.next().then((part) => {
    events.push("second part");
    return part;
  });
  await new Promise(setImmediate);
  expect(events).toEqual(["slow asked for 1"]);
  open();
  expect((await next).value).toEqual({
    pending: [],
    delivered: [
      { kind: "fragment", id: "0", path: ["person"], label: "more", data: { score: 10 }, errors: [] },
    ],
    completed: [{ id: "0", path: ["person"], label: "more" }],
    hasNext: false,
  });
  expect(events).toEqual(["slow asked for 1", "second part"]);
  expect(await rest.next()).toEqual({ done: true, value: undefined });
});

test("what a fragment needs from the subgraph of the result is split from it, and is fetched once", async () => {
  const query = `{ person { score ... @defer { rank note } ... @defer { rank friends { name } } } }`;
  const merged = await mergeParts(await inParts(query));
  expect(merged.data).toEqual({
    person: { score: 10, rank: 1, note: "note 1", friends: [{ name: "name 2" }, { name: "name 3" }] },
  });
  const texts = federation.asked.filter(({ subgraph }) => subgraph === "slow").map(({ text }) => text);
  const count = (field: string) => texts.filter((text) => new RegExp(`\\b${field}\\b`).test(text)).length;
  expect([count("score"), count("rank"), count("friends")]).toEqual([1, 1, 1]);
  expect(texts[0]).not.toContain("rank");
});

test.each([
  ["fields of the result's own request", `{ person { name ... @defer { address { city } } } }`],
  ["fields that the result selects too", `{ person { score name ... @defer { score } } }`],
  ["a fragment whose condition is false", `{ person { name ... @defer(if: false) { score } } }`],
  ["no object", `{ nobody { name ... @defer { score } } }`],
  ["a fragment that is not included", `{ person { name ... @include(if: false) @defer { score } } }`],
])("nothing is postponed for %s", async (_, query) => {
  const result = await run(query);
  expect(isInParts(result)).toBe(false);
  expect(result).toEqual(await federation.engine.execute({ document: parse(query), context }));
});

test("a variable that is not given defers, also after one that is false, and the reverse", async () => {
  const defer = `query ($later: Boolean) { person { name ... @defer(if: $later) { score } } }`;
  const stream = `query ($later: Boolean) { person { friends @stream(if: $later) { name } } }`;
  for (const query of [defer, stream]) {
    const delivered: boolean[] = [];
    for (const variables of [{ later: false }, {}, { later: true }, { later: false }])
      delivered.push(isInParts(await run(query, variables)));
    expect(delivered).toEqual([false, true, true, false]);
  }
});

test.each([
  [true, ["first", "score"]],
  [false, ["all"]],
] as const)("`if: %s` of a variable decides", async (later, expected) => {
  const query = `query ($later: Boolean!) { person { name ... @defer(if: $later) { score } } }`;
  const result = await run(query, { later });
  expect(isInParts(result) ? ["first", "score"] : ["all"]).toEqual(expected);
  expect((await mergeParts(result)).data).toEqual({ person: { name: "name 1", score: 10 } });
});

test("a client that does not accept parts gets the whole result", async () => {
  const document = parse(`{ person { name ... @defer { score } } people @stream { name } }`);
  expect(await federation.engine.execute({ document, context })).toMatchObject({
    data: { person: { name: "name 1", score: 10 }, people: [{}, {}, {}] },
  });
});

test("nested fragments are announced by the part that delivers the fragment around them", async () => {
  const { pending, rest } = await inParts(
    `{ person { name ... @defer(label: "outer") { friends { id ... @defer(label: "inner") { note } } } } }`,
  );
  expect(pending.map(({ label }) => label)).toEqual(["outer"]);
  const parts = [];
  for await (const part of rest) parts.push(part);
  expect(parts.map((part) => part.pending.map(({ label, path }) => [label, ...path]))).toEqual([
    [
      ["inner", "person", "friends", 0],
      ["inner", "person", "friends", 1],
    ],
    [],
  ]);
  expect(parts[1]?.delivered.map((one) => one.kind === "fragment" && one.data)).toEqual([
    { note: "note 2" },
    { note: "note 3" },
  ]);
  expect(events.filter((event) => event.startsWith("notes"))).toEqual([
    "notes asked for 2",
    "notes asked for 3",
  ]);
});

test("fragments of the root, in lists, by name and under aliases arrive merged", async () => {
  const query = `
    query { ...Root @defer people { ...Scores @defer(label: "scores") key: id } other: person { ...Scores @defer } }
    fragment Root on Query { slow }
    fragment Scores on Person { points: score address { city } }`;
  const merged = await mergeParts(await inParts(query));
  const whole = await federation.engine.execute({ document: parse(query), context });
  expect(merged.data).toEqual(JSON.parse(JSON.stringify(whole.data)));
  const scores = federation.asked.filter(({ text }) => text.includes("score"));
  expect(scores.length).toBeLessThanOrEqual(2);
});

describe("errors of a fragment", () => {
  test("are reported with the part that has it, and not before", async () => {
    const { first, rest } = await inParts(`{ person { name ... @defer { broken score } } }`);
    expect(first.errors).toBeUndefined();
    const { value } = await rest.next();
    expect(value.delivered).toMatchObject([
      { data: { broken: null, score: 10 }, errors: [{ path: ["person", "broken"] }] },
    ]);
  });

  test("that reach the object around it end the fragment without data, and leave the result intact", async () => {
    const query = `{ person { name ... @defer(label: "bad") { strict } ... @defer { note } } }`;
    const merged = await mergeParts(await inParts(query));
    expect(merged).toMatchObject({
      data: { person: { name: "name 1", note: "note 1" } },
      failed: [["person"]],
    });
    expect(merged.errors).toMatchObject([{ path: ["person", "strict"] }]);
  });

  test("are reported with it also where the first part fetched its data", async () => {
    const { first, rest } = await inParts(`{ failing ... @defer { broken: failing person { id } } }`);
    expect(first.errors).toMatchObject([{ path: ["failing"] }]);
    const { value } = await rest.next();
    expect(value.delivered).toMatchObject([
      { data: { broken: null, person: { id: "1" } }, errors: [{ path: ["broken"] }] },
    ]);
  });

  test("of items of a list come with the items", async () => {
    const query = `{ people @stream(initialCount: 1) { name broken ... @defer { other: broken } } }`;
    const { first, rest } = await inParts(query);
    expect(first.errors).toMatchObject([{ path: ["people", 0, "broken"] }]);
    const merged = await mergeParts({ ...(await inParts(query)) });
    expect(new Set(merged.errors.map(({ path }) => JSON.stringify(path)))).toEqual(
      new Set([0, 1, 2].flatMap((n) => ["broken", "other"].map((key) => JSON.stringify(["people", n, key])))),
    );
    await rest.return?.();
  });

  test("of an unreachable subgraph name it at each of the objects", async () => {
    const engine = federation.without("slow");
    const document = parse(`{ people { name ... @defer { score } ... @defer { rank } } }`);
    const merged = await mergeParts(await engine.executeIncrementally({ document, context }));
    const nothing = PEOPLE.map(({ name }) => ({ name, score: null }));
    expect(merged.data).toEqual({ people: nothing });
    expect(merged.failed).toEqual([0, 1, 2].map((index) => ["people", index]));
    expect(new Set(merged.errors.map(({ message }) => message))).toEqual(
      new Set(["The slow subgraph cannot be reached."]),
    );
  });
});

test("a mutation runs once, and its fragments are fetched after its result", async () => {
  const { first, rest } = await inParts(`mutation { rename(name: "new") { name ... @defer { score } } }`);
  expect(first.data).toEqual({ rename: { name: "new" } });
  expect(events).toEqual(["renamed new"]);
  expect((await rest.next()).value.delivered).toMatchObject([{ data: { score: 10 } }]);
  expect(events).toEqual(["renamed new", "slow asked for 1"]);
});

describe("a streamed list", () => {
  test("delivers its first items with the result, and the others after it", async () => {
    const { first, pending, rest } = await inParts(
      `query ($n: Int!) { people @stream(initialCount: $n, label: "list") { name } }`,
      { n: 1 },
    );
    expect(first.data).toEqual({ people: [{ name: "name 1" }] });
    expect(pending).toEqual([{ id: "0", path: ["people"], label: "list" }]);
    const { value } = await rest.next();
    expect(value).toMatchObject({
      delivered: [{ kind: "list", at: 1, items: [{ name: "name 2" }, { name: "name 3" }] }],
      completed: [{ id: "0" }],
      hasNext: false,
    });
  });

  test("postpones fragments of its items until these are delivered", async () => {
    const query = `{ people @stream(initialCount: 1) { name ... @defer { score } } }`;
    const merged = await mergeParts(await inParts(query));
    expect(merged.data).toEqual({
      people: PEOPLE.map(({ name, id }) => ({ name, score: Number(id) * 10 })),
    });
    expect(federation.asked.filter(({ subgraph }) => subgraph === "slow")).toHaveLength(1);
  });

  test("ends at an item that is null where null is not allowed", async () => {
    const query = `{ person { friends @stream(initialCount: 1) { name strict } } people @stream { strict } }`;
    const merged = await mergeParts(await inParts(query));
    expect(merged.failed).toEqual([["people"]]);
    expect(merged.data).toEqual({ person: { friends: null }, people: [] });
  });

  test("that is selected twice or is short is delivered with the result", async () => {
    for (const query of [
      "{ people @stream { name } people { id } }",
      "{ people @stream(initialCount: 3) { name } }",
    ])
      expect(isInParts(await run(query))).toBe(false);
  });
});

test("when the reader leaves, pending requests are aborted, and no further part is delivered", async () => {
  const open = hold();
  const { rest } = await inParts(
    `{ person { name ... @defer { friends { id ... @defer { note } } } ... @defer { score } } }`,
  );
  const next = rest.next();
  await new Promise(setImmediate);
  await rest.return?.();
  expect(await next).toEqual({ done: true, value: undefined });
  expect(federation.failures.map(({ subgraph }) => subgraph)).toContain("slow");
  open();
  await new Promise(setImmediate);
  expect(events.filter((event) => event.startsWith("notes"))).toEqual([]);
  expect(await rest.next()).toEqual({ done: true, value: undefined });
});

test("entities with several keys are joined in fragments as in the result", async () => {
  const other = await startFederation(keys.subgraphs, "remote");
  try {
    const query = `{ tokens { contract ... @defer { files { root ... @defer { pinned(by: "me") } } owner { name quota } } } }`;
    const document = parse(query);
    const merged = await mergeParts(await other.engine.executeIncrementally({ document, context }));
    const whole = await other.engine.execute({ document, context });
    expect(merged.data).toEqual(JSON.parse(JSON.stringify(whole.data)));
    expect(merged.parts.length).toBeGreaterThan(1);
  } finally {
    await other.close();
  }
});
