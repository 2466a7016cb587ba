import { ApolloClient, gql, HttpLink, InMemoryCache } from "@apollo/client";
import { describe, expect, test } from "vitest";
import { readPlain } from "../../../gateway/graph/fast-path.ts";
import { graphTypeFor } from "../../../gateway/http/media-types.ts";

const QUERY = "query Network($first: Int) { network { name } models(first: $first) { nodes { id } } }";
const URL = "http://127.0.0.1/graphql";
/** By a name that the compiler does not follow, as in `streaming-clients.ts`. */
const URQL: string = "urql";
/** The headers that Relay's documentation gives to its `fetch`. */
const RELAY_ACCEPT = "application/graphql-response+json; charset=utf-8, application/json; charset=utf-8";

/** The request that a client sends, in the shape of Fastify's. */
async function requestOf(ask: (send: typeof fetch) => Promise<unknown>) {
  let sent: Request | undefined;
  await ask(async (input, init) => {
    sent = new Request(input, init);
    return Response.json({ data: { network: null, models: null } });
  });
  if (!sent) throw new Error("the client sent nothing");
  return { method: sent.method, headers: Object.fromEntries(sent.headers), body: await sent.json() };
}

const CLIENTS: Readonly<Record<string, (send: typeof fetch) => Promise<unknown>>> = {
  "Apollo Client": (send) => {
    const client = new ApolloClient({
      cache: new InMemoryCache(),
      link: new HttpLink({ uri: URL, fetch: send }),
    });
    return client.query({ query: gql(QUERY), variables: { first: 1 } });
  },
  urql: async (send) => {
    const { createClient, fetchExchange } = await import(URQL);
    const client = createClient({
      url: URL,
      exchanges: [fetchExchange],
      fetch: send,
      preferGetMethod: false,
    });
    return client.query(QUERY, { first: 1 }).toPromise();
  },
  Relay: (send) =>
    send(URL, {
      method: "POST",
      headers: { accept: RELAY_ACCEPT, "content-type": "application/json" },
      body: JSON.stringify({ query: QUERY, variables: { first: 1 } }),
    }),
};

describe("the fast path reads", () => {
  test.each(Object.entries(CLIENTS))("what %s sends by default", async (_name, ask) => {
    const read = readPlain(await requestOf(ask));
    expect(read?.payload).toMatchObject({ variables: { first: 1 } });
    expect(read?.mediaType).toBe("application/graphql-response+json");
  });

  test.each([
    ["a persisted query", { query: QUERY, extensions: { persistedQuery: { version: 1 } } }],
    ["the id of a trusted document", { documentId: "a" }],
    ["an unknown member", { query: QUERY, other: 1 }],
  ])("no request with %s", (_what, body) => {
    const headers = { "content-type": "application/json" };
    expect(readPlain({ method: "POST", headers, body })).toBeUndefined();
  });
});

describe("the media type of a response", () => {
  const GRAPHQL = "application/graphql-response+json";
  const JSON_TYPE = "application/json";
  test.each([
    [undefined, JSON_TYPE],
    ["*/*", JSON_TYPE],
    ["application/json, text/plain, */*", JSON_TYPE],
    [`${GRAPHQL},application/json;q=0.9`, GRAPHQL],
    [`${JSON_TYPE}, ${GRAPHQL}`, JSON_TYPE],
    [`${GRAPHQL}, ${JSON_TYPE}`, GRAPHQL],
    [`${GRAPHQL};q=0.5, ${JSON_TYPE};q=0.7`, JSON_TYPE],
    [RELAY_ACCEPT, GRAPHQL],
    ["text/html", undefined],
    [`${JSON_TYPE};q=0`, undefined],
    [`${JSON_TYPE};q=much`, undefined],
    [`${JSON_TYPE};version=2`, undefined],
    [`${JSON_TYPE};q=0.5, */*`, undefined],
  ])("accepted as %s is %s", (accept, type) => {
    expect(graphTypeFor(accept)).toBe(type);
  });
});
