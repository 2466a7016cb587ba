import { createHash } from "node:crypto";
import { ApolloClient, ApolloLink, gql, HttpLink, InMemoryCache } from "@apollo/client";
import { Defer20220824Handler, GraphQL17Alpha9Handler } from "@apollo/client/incremental";
import { PersistedQueryLink } from "@apollo/client/link/persisted-queries";
import { describe, expect, test } from "vitest";
import { readRequest } from "../../../gateway/graph/read-request.ts";
import { graphTypeFor } from "../../../gateway/http/media-types.ts";

const QUERY = "query Network($first: Int) { network { name } models(first: $first) { nodes { id } } }";
const DEFERRED =
  "query Network($first: Int) { network { name } ... @defer { models(first: $first) { totalCount } } }";
const URL_ = "http://127.0.0.1/graphql";
/** By a name that the compiler does not follow, as in `streaming-clients.ts`. */
const URQL: string = "urql";
/** The headers that Relay's documentation gives to its `fetch`. */
const RELAY_ACCEPT = "application/graphql-response+json; charset=utf-8, application/json; charset=utf-8";

/** The first request that a client sends, in the shape of Fastify's. */
async function requestOf(ask: (send: typeof fetch) => Promise<unknown>) {
  let sent: Request | undefined;
  await ask(async (input, init) => {
    sent ??= new Request(input, init);
    return Response.json({ data: { network: null, models: null } });
  });
  if (!sent) throw new Error("the client sent nothing");
  const query = Object.fromEntries(new URL(sent.url).searchParams);
  const body: unknown = sent.method === "POST" ? await sent.json() : undefined;
  return { method: sent.method, headers: Object.fromEntries(sent.headers), body, query };
}

type Asking = (send: typeof fetch) => Promise<unknown>;

function apollo(
  query: string,
  options: { readonly incrementalHandler?: Defer20220824Handler; readonly before?: ApolloLink } = {},
): Asking {
  return (send) => {
    const http = new HttpLink({ uri: URL_, fetch: send });
    const { before, ...rest } = options;
    const link = before ? ApolloLink.from([before, http]) : http;
    const client = new ApolloClient({ cache: new InMemoryCache(), link, ...rest });
    return client.query({ query: gql(query), variables: { first: 1 }, errorPolicy: "all" });
  };
}

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
const persisted = (useGETForHashedQueries: boolean) =>
  new PersistedQueryLink({ sha256, useGETForHashedQueries });

function urql(options: object): Asking {
  return async (send) => {
    const { createClient, fetchExchange } = await import(URQL);
    const client = createClient({ url: URL_, exchanges: [fetchExchange], fetch: send, ...options });
    return client.query(QUERY, { first: 1 }).toPromise();
  };
}

const CLIENTS: Readonly<Record<string, { readonly method: "GET" | "POST"; readonly ask: Asking }>> = {
  "Apollo Client": { method: "POST", ask: apollo(QUERY) },
  "Apollo Client with @defer of 2022": {
    method: "POST",
    ask: apollo(DEFERRED, { incrementalHandler: new Defer20220824Handler() }),
  },
  "Apollo Client with the current @defer": {
    method: "POST",
    ask: apollo(DEFERRED, { incrementalHandler: new GraphQL17Alpha9Handler() as never }),
  },
  "Apollo Client with persisted queries": {
    method: "POST",
    ask: apollo(QUERY, { before: persisted(false) }),
  },
  "Apollo Client with persisted queries by GET": {
    method: "GET",
    ask: apollo(QUERY, { before: persisted(true) }),
  },
  urql: { method: "GET", ask: urql({}) },
  "urql without GET": { method: "POST", ask: urql({ preferGetMethod: false }) },
  Relay: {
    method: "POST",
    ask: (send) =>
      send(URL_, {
        method: "POST",
        headers: { accept: RELAY_ACCEPT, "content-type": "application/json" },
        body: JSON.stringify({ query: QUERY, variables: { first: 1 } }),
      }),
  },
};

describe("the fast path reads", () => {
  test.each(Object.entries(CLIENTS))("what %s sends by default", async (_name, { method, ask }) => {
    const sent = await requestOf(ask);
    expect(sent.method).toBe(method);
    const read = readRequest(sent);
    expect(read?.payload).toMatchObject({ variables: { first: 1 } });
    expect(read?.mediaType).toBe("application/graphql-response+json");
  });

  test("a trusted document by its id", () => {
    const headers = { "content-type": "application/json" };
    const body = { documentId: "a" };
    expect(readRequest({ method: "POST", headers, body, query: {} })?.payload).toEqual(body);
    expect(readRequest({ method: "GET", headers: {}, body: undefined, query: body })?.payload).toEqual(body);
  });

  test.each([
    ["nothing to run", {}],
    [
      "another version of persisted queries",
      { query: QUERY, extensions: { persistedQuery: { version: 2 } } },
    ],
    ["a persisted query without a hash", { query: QUERY, extensions: { persistedQuery: { version: 1 } } }],
    ["an unknown member", { query: QUERY, other: 1 }],
    ["variables that are a list", { query: QUERY, variables: [] }],
    ["a number as the text", { query: 7 }],
  ])("no request with %s", (_what, body) => {
    const headers = { "content-type": "application/json" };
    expect(readRequest({ method: "POST", headers, body, query: {} })).toBeUndefined();
  });

  test("no GET whose variables are not JSON, and no other method", () => {
    const request = { headers: {}, body: undefined, query: { query: QUERY, variables: "{" } };
    expect(readRequest({ ...request, method: "GET" })).toBeUndefined();
    expect(readRequest({ ...request, query: { query: QUERY }, method: "HEAD" })).toBeUndefined();
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
