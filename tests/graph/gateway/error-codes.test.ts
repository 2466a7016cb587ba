// @module-tag medium
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { buildSchema, type GraphQLEnumType } from "graphql";
import { expect, test } from "vitest";
import { followEvents, followSocket, type GraphResult } from "../../support/clients/graph-client.ts";
import { useStack } from "../../support/stack.ts";

const stack = useStack();
const published = buildSchema(readFileSync("schema/api.graphql", "utf8")).getType("ErrorCode");
const CODES = (published as GraphQLEnumType).getValues().map(({ name }) => name);
const JSON_TYPE = { "content-type": "application/json" };
const TYPENAME = "{ __typename }";

/** The codes of the errors in a response to `/graphql`: other methods than its own get an error of REST. */
async function codesOf(init: RequestInit, search = ""): Promise<readonly unknown[]> {
  const reply = await fetch(`${stack().origin}/graphql${search}`, init);
  const { errors = [], error } = (await reply.json()) as GraphResult & {
    readonly error?: { readonly code: string };
  };
  return error ? [error.code] : errors.map(({ extensions }) => extensions?.code);
}

const send = (body: unknown, headers: Record<string, string> = {}): RequestInit => ({
  method: "POST",
  headers: { ...JSON_TYPE, ...headers },
  body: typeof body === "string" ? body : JSON.stringify(body),
});
const persisted = (persistedQuery: unknown, query?: string) =>
  send({ query, extensions: { persistedQuery } });
const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

test.each<[string, RequestInit, string?]>([
  ["an empty body", send("")],
  ["text that is not JSON", send("{")],
  ["an array", send([{ query: TYPENAME }])],
  ["a number", send("5")],
  ["an object without a query", send({})],
  ["a query that is a number", send({ query: 5 })],
  ["variables that are an array", send({ query: TYPENAME, variables: [] })],
  ["variables that are a text", send({ query: TYPENAME, variables: "x" })],
  ["extensions that are an array", send({ query: TYPENAME, extensions: [] })],
  ["a syntax error", send({ query: "{" })],
  ["an unknown field", send({ query: "{ nope }" })],
  ["an unknown operation", send({ query: `query A ${TYPENAME}`, operationName: "B" })],
  ["one of two operations", send({ query: `query A ${TYPENAME} query B ${TYPENAME}` })],
  ["a missing variable", send({ query: "query ($id: ID!) { node(id: $id) { id } }" })],
  [
    "null for a variable that a default allows",
    send({ query: 'query ($id: ID = "x") { node(id: $id) { id } }', variables: { id: null } }),
  ],
  [
    "a value of another type",
    send({ query: "query ($n: Int) { models(first: $n) { totalCount } }", variables: { n: "x" } }),
  ],
  [
    "a cycle of fragments",
    send({ query: "{ ...A } fragment A on Query { ...B } fragment B on Query { ...A }" }),
  ],
  [
    "a cycle in a second fragment of one name",
    send({ query: "{ ...A } fragment A on Query { __typename } fragment A on Query { ...A }" }),
  ],
  ["a subscription for one response", send({ query: "subscription { blockAdded { number } }" })],
  ["a wrong key", send({ query: TYPENAME }, { authorization: "Bearer mk-none" })],
  ["another content type", send(`{"query":"${TYPENAME}"}`, { "content-type": "text/plain" })],
  ["a form", send(`query=${TYPENAME}`, { "content-type": "application/x-www-form-urlencoded" })],
  ["a body that is not compressed as it says", send("x", { "content-encoding": "gzip" })],
  ["a type that is not produced", send({ query: TYPENAME }, { accept: "text/xml" })],
  ["another method", { method: "PUT" }],
  [
    "a mutation by GET",
    { headers: { "apollo-require-preflight": "1" } },
    `?query=${encodeURIComponent("mutation { createSignInNonce { nonce } }")}`,
  ],
  [
    "variables by GET that are not JSON",
    { headers: { "apollo-require-preflight": "1" } },
    `?query=${TYPENAME}&variables={`,
  ],
  [
    "GET as a page of another site sends it",
    { headers: { accept: "application/json" } },
    `?query=${TYPENAME}`,
  ],
  ["an unknown hash", persisted({ version: 1, sha256Hash: sha256("unknown") })],
  ["a hash of another query", persisted({ version: 1, sha256Hash: sha256("other") }, TYPENAME)],
  ["a hash that is a number", persisted({ version: 1, sha256Hash: 5 })],
  ["another version of persisted queries", persisted({ version: 2, sha256Hash: sha256(TYPENAME) })],
  ["an unknown trusted document", send({ documentId: "none" })],
  [
    "too many aliases",
    send({ query: `{ ${Array.from({ length: 40 }, (_, n) => `a${n}: __typename`).join(" ")} }` }),
  ],
])("%s is refused with a code that the schema lists", async (_, init, search) => {
  const codes = await codesOf(init, search);
  expect(codes.length).toBeGreaterThan(0);
  for (const code of codes) expect(CODES).toContain(code);
});

test("subscriptions are refused with codes that the schema lists, over each transport", async () => {
  for (const query of ["subscription { nope }", "subscription {", "subscription { balanceChanged { id } }"]) {
    const following = await followSocket(stack().origin, undefined, query);
    await following.ended;
    const errors = following.failure ?? following.results.flatMap(({ errors: found = [] }) => found);
    expect(errors.length).toBeGreaterThan(0);
    for (const { extensions } of errors) expect(CODES).toContain(extensions?.code);
    await following.stop();
    const refused = await followEvents(stack().origin, undefined, query).then(
      async ({ results, closed }) => {
        await closed;
        return JSON.stringify(results);
      },
      (error: Error) => error.message,
    );
    const found = [...refused.matchAll(/"code":"(\w+)"/g)].map(([, code]) => code);
    expect(found.length).toBeGreaterThan(0);
    for (const code of found) expect(CODES).toContain(code);
  }
});
