import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { readSupergraph } from "../../../gateway/federation/engine/planning/api-schema.ts";
import { createPolicy, type OperationPayload } from "../../../gateway/federation/policy/policy.ts";
import { GRAPH_LIMITS } from "../../../src/graph-limits.ts";

const supergraph = readFileSync("schema/supergraph.graphql", "utf8");
const schema = readSupergraph(supergraph).api;
const newPolicy = (introspection: boolean) =>
  createPolicy({ schema, supergraph, limits: GRAPH_LIMITS, introspection });
const [open, closed] = [newPolicy(true), newPolicy(false)];

function paramsOf(payload: OperationPayload, policy = open) {
  const verdict = policy.admit(payload);
  return "document" in verdict ? [] : verdict.map(({ extensions }) => extensions.param);
}

const chat = (input: string) => `mutation { completeChat(input: ${input}) { userErrors { field } } }`;

describe("the member at fault in a literal is named", () => {
  test.each([
    ["mutation { createApiKey(input: {}) { secret } }", ["name"]],
    ["mutation { createApiKey(input: { label: 1 }) { secret } }", ["name", "label"]],
    ["mutation { createApiKey(input: { name: null }) { secret } }", ["name"]],
    ['mutation { createApiKey(input: { name: "a", name: "b" }) { secret } }', ["name"]],
    [chat("{}"), ["model", "messages"]],
    [chat('{ model: "m", messages: [{}] }'), ["messages.0.role"]],
    [chat('{ model: "m", messages: [{ role: "user" }, {}] }'), ["messages.1.role"]],
    [chat('{ model: "m", messages: {} }'), ["messages.role"]],
    [chat('{ model: "m", messages: [], routing: { n: 1 } }'), ["routing.n"]],
    ["mutation { createApiKey { secret } }", ["input"]],
    ["{ model { id } }", ["id"]],
    ["{ network { name @include } }", ["if"]],
    ["{ models(frist: 1) { totalCount } }", ["frist"]],
    ["{ models(first: 1, first: 2) { totalCount } }", ["first"]],
    ["{ models(first: $n) { totalCount } }", ["first"]],
    ["query ($n: String) { models(first: $n) { totalCount } }", ["first"]],
    ["mutation ($i: CreateApiKeyInput! = {}) { createApiKey(input: $i) { secret } }", ["i.name"]],
  ])("%s", (query, params) => {
    expect(paramsOf({ query })).toEqual(params);
  });
});

test("a missing member has the same name in a literal and in a variable, after the variable", () => {
  const query = "mutation ($i: CompleteChatInput!) { completeChat(input: $i) { userErrors { field } } }";
  const variables = { i: { model: "m", messages: [{ role: "user" }, {}] } };
  expect(paramsOf({ query, variables })).toEqual(["i.messages.1.role"]);
  expect(paramsOf({ query: chat('{ model: "m", messages: [{ role: "user" }, {}] }') })).toEqual([
    "messages.1.role",
  ]);
});

test("where the schema is hidden, a missing member is not named: its object is", () => {
  const missing = "mutation { createApiKey(input: {}) { secret } }";
  const query = "mutation ($i: CreateApiKeyInput!) { createApiKey(input: $i) { secret } }";
  expect(paramsOf({ query: missing }, closed)).toEqual(["input"]);
  expect(paramsOf({ query: "mutation { createApiKey { secret } }" }, closed)).toEqual([undefined]);
  expect(paramsOf({ query, variables: { i: {} } }, closed)).toEqual(["i"]);
});
