import { readFileSync } from "node:fs";
import { executeSync, getIntrospectionQuery, parse } from "graphql";
import { expect, test } from "vitest";
import { readSupergraph } from "../../../gateway/federation/engine/planning/api-schema.ts";
import { repeatedTurnMs } from "../../support/attack/event-loop.ts";
import { useStack } from "../../support/stack.ts";

const MAX_TURN_MS = 50;
const stack = useStack({ INTROSPECTION: "on" });
const schema = readSupergraph(readFileSync("schema/supergraph.graphql", "utf8")).api;
let names = 0;

/** The standard query of tools, under a name that no query had before. */
const newQuery = () =>
  getIntrospectionQuery({ inputValueDeprecation: true, specifiedByUrl: true }).replace(
    "IntrospectionQuery",
    `Introspection${++names}`,
  );

async function post(query: string): Promise<string> {
  const reply = await fetch(`${stack().origin}/graphql`, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json" },
    body: JSON.stringify({ query }),
  });
  return reply.text();
}

test("a new introspection query keeps the event loop for less than 50 ms in a turn", async () => {
  await post(newQuery());
  expect(await repeatedTurnMs(MAX_TURN_MS, () => post(newQuery()))).toBeLessThan(MAX_TURN_MS);
});

test("so do several at once, and their answers are those of graphql-js, also beside other fields", async () => {
  const texts: string[] = [];
  const turnMs = await repeatedTurnMs(MAX_TURN_MS, async () => {
    texts.push(...(await Promise.all([1, 2, 3, 4].map(() => post(newQuery())))));
  });
  expect(turnMs).toBeLessThan(MAX_TURN_MS);
  expect(new Set(texts).size).toBe(1);
  const alone = executeSync({ schema, document: parse(newQuery()) });
  expect(JSON.parse(texts[0] ?? "")).toEqual(JSON.parse(JSON.stringify(alone)));
  const beside = JSON.parse(
    await post(
      '{ __typename b: __schema { types { name } } __type(name: "Query") { name } network { name } }',
    ),
  );
  expect(beside.data).toMatchObject({ __typename: "Query", __type: { name: "Query" }, network: {} });
  expect(beside.data.b.types.map(({ name }: { name: string }) => name)).toEqual(
    Object.keys(schema.getTypeMap()),
  );
});
