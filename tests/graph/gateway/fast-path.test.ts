// @module-tag medium
import { ApolloServer } from "@apollo/server";
import { afterEach, beforeEach, describe, expect, type MockInstance, test, vi } from "vitest";
import { MODEL } from "../../support/chain/network.ts";
import { QUERY_CLIENTS } from "../../support/clients/query-clients.ts";
import { useStack } from "../../support/stack.ts";

const stack = useStack();
const url = () => `${stack().origin}/graphql`;

/** Everything off the fast path goes through this method of Apollo Server. */
let byApollo: MockInstance;
beforeEach(() => {
  byApollo = vi.spyOn(ApolloServer.prototype, "executeHTTPGraphQLRequest");
});
afterEach(() => byApollo.mockRestore());

const MODELS = `query Models($first: Int!, $prices: Boolean!) {
  models(first: $first) { nodes { modelId pricing @include(if: $prices) { input } } }
}`;
const ANONYMOUS = "{ models { nodes { modelId } } }";
const NONCE = "mutation SignIn { createSignInNonce { nonce } }";
const PARTLY = 'query Partly { network { name } models(after: "none") { nodes { modelId } } }';
/** Longer than the URLs that clients send. */
const LONG = `query Long { models { nodes { ${Array.from({ length: 12 }, (_, n) => `${"x".repeat(200)}${n}: modelId`).join(" ")} } } }`;

const listed = {
  models: { nodes: expect.arrayContaining([expect.objectContaining({ modelId: MODEL })]) },
};

describe.each(Object.entries(QUERY_CLIENTS))("the fast path answers %s:", (_, open) => {
  test("a query with variables, and again with others", async () => {
    const ask = open(url());
    for (const prices of [true, false]) {
      const { data, error } = await ask(MODELS, { first: 10, prices });
      expect(error).toBeUndefined();
      expect(data).toMatchObject(listed);
    }
    expect(byApollo).not.toHaveBeenCalled();
  });

  test("an anonymous query without variables, and one too long for a URL", async () => {
    const ask = open(url());
    expect(await ask(ANONYMOUS, {})).toMatchObject({ data: listed });
    const { data } = await ask(LONG, {});
    expect(data).toHaveProperty("models.nodes");
    expect(byApollo).not.toHaveBeenCalled();
  });

  test("a mutation", async () => {
    const { data } = await open(url())(NONCE, {});
    expect(data).toMatchObject({ createSignInNonce: { nonce: expect.any(String) } });
    expect(byApollo).not.toHaveBeenCalled();
  });

  test("a query of which a field fails", async () => {
    const { data, error } = await open(url())(PARTLY, {});
    expect(data).toMatchObject({ network: { name: expect.any(String) } });
    expect(error).toBeDefined();
    expect(byApollo).not.toHaveBeenCalled();
  });
});

test("a request that needs full negotiation is left to Apollo Server", async () => {
  const headers = { "content-type": "application/json", accept: "application/json;q=0.5, */*" };
  const body = JSON.stringify({ query: ANONYMOUS });
  const answer = await fetch(url(), { method: "POST", headers, body });
  expect(answer.status).toBe(200);
  expect(byApollo).toHaveBeenCalledOnce();
});
