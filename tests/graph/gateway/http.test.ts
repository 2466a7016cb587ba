// @module-tag large
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ApolloClient, type ApolloLink, gql, HttpLink, InMemoryCache } from "@apollo/client";
import { PersistedQueryLink } from "@apollo/client/link/persisted-queries";
import { type AuditResult, serverAudits } from "graphql-http";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { BANNER_QUERY, BANNER_SUBSCRIPTION } from "../../../gateway/cli/welcome.ts";
import { openGraph } from "../../../gateway/federation/graph.ts";
import { createServer as createGateway } from "../../../gateway/server.ts";
import { NEW_BLOCKS, VIEWER_KIND } from "../../../packages/client/src/cli/documents.ts";
import { EVENT_CURSOR } from "../../../packages/client/src/core/event-cursor.ts";
import { createClient } from "../../../packages/client/src/index.ts";
import { BalanceDocument } from "../../../packages/client/src/operations.ts";
import { newId } from "../../../src/kernel/text/ids.ts";
import { MODEL } from "../../support/chain/network.ts";
import { ask, followSocket } from "../../support/clients/graph-client.ts";
import { scaled } from "../../support/machine.ts";
import { seedAccount } from "../../support/seed.ts";
import { useStack } from "../../support/stack.ts";
import { until } from "../../support/until.ts";

type Urql = {
  createClient(options: object): {
    query(text: string, variables: object): { toPromise(): Promise<UrqlAnswer> };
  };
  readonly fetchExchange: unknown;
};
type UrqlAnswer = { readonly data?: unknown; readonly error?: { readonly graphQLErrors: readonly object[] } };
/** By a name that the compiler does not follow, as in `streaming-clients.ts`. */
const URQL: string = "urql";
const { createClient: createUrql, fetchExchange } = (await import(URQL)) as Urql;

const stack = useStack();
const PREFLIGHT = { "apollo-require-preflight": "true" };
const url = () => `${stack().origin}/graphql`;

type Posted = { status: number; type: string | null; control: string | null; text: string; code: string };

async function post(body: unknown, headers: Record<string, string> = {}): Promise<Posted> {
  const reply = await fetch(url(), {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  return read(reply);
}

async function read(reply: Response): Promise<Posted> {
  const text = await reply.text();
  const code = (JSON.parse(text || "{}") as { errors?: { extensions: { code: string } }[] }).errors?.[0]
    ?.extensions.code;
  const { status, headers } = reply;
  return {
    status,
    type: headers.get("content-type"),
    control: headers.get("cache-control"),
    text,
    code: code ?? "",
  };
}

const GRAPHQL = "application/graphql-response+json; charset=utf-8";
const JSON_TYPE = "application/json; charset=utf-8";

test("the audit of GraphQL over HTTP finds no error, every MUST met, and at most three recommendations unmet", async () => {
  const fetchFn = (input: string, init: RequestInit = {}) =>
    fetch(input, { ...init, headers: { ...(init.headers as Record<string, string>), ...PREFLIGHT } });
  const audits = serverAudits({ url: url(), fetchFn });
  const results: AuditResult[] = [];
  for (const audit of audits) results.push(await audit.fn());
  const names = (status: string) => results.filter((one) => one.status === status).map(({ name }) => name);
  expect(names("error")).toEqual([]);
  expect(names("warn").filter((name) => name.startsWith("MUST"))).toEqual([]);
  expect(results.filter(({ name }) => name.startsWith("MUST")).length).toBeGreaterThanOrEqual(13);
  expect(names("ok").length).toBeGreaterThanOrEqual(results.length - 3);
});

describe("a request that is not GraphQL", () => {
  test.each([
    ["not JSON", "{", 400, "invalid_body"],
    ["a byte order mark", '\ufeff{"query":"{ __typename }"}', 400, "invalid_body"],
    ["a prototype", '{"query":"{ __typename }","__proto__":{"a":1}}', 400, "invalid_body"],
    ["a constructor's prototype", '{"constructor":{"prototype":{"a":1}}}', 400, "invalid_body"],
    ["JSON with 65 levels", `${'{"a":'.repeat(65)}1${"}".repeat(65)}`, 400, "invalid_body"],
    ["nothing", "{}", 400, "BAD_REQUEST"],
    ["a batch", '[{"query":"{ __typename }"}]', 400, "BAD_REQUEST"],
    [
      "more than 512 KiB",
      JSON.stringify({ query: `{ __typename } #${"x".repeat(524_288)}` }),
      413,
      "body_too_large",
    ],
    ["a subscription", { query: "subscription { balanceChanged { id } }" }, 400, "graphql_refused"],
    [
      "a query that is too deep",
      { query: `{ ${"a { ".repeat(10)} b ${" }".repeat(10)} }` },
      400,
      "graphql_refused",
    ],
    ["an unknown field", { query: "{ nothing }" }, 400, "GRAPHQL_VALIDATION_FAILED"],
    ["bad syntax", { query: "{ " }, 400, "GRAPHQL_PARSE_FAILED"],
    ["the subgraphs' own SDL", { query: "{ _service { sdl } }" }, 400, "GRAPHQL_VALIDATION_FAILED"],
    [
      "entities",
      { query: "{ _entities(representations: []) { __typename } }" },
      400,
      "GRAPHQL_VALIDATION_FAILED",
    ],
    [
      "an operation that does not exist",
      { query: "query A { __typename }", operationName: "B" },
      400,
      "OPERATION_RESOLUTION_FAILURE",
    ],
  ])("%s is refused by name, in every media type", async (_, body, status, code) => {
    for (const accept of ["application/json", "application/graphql-response+json"]) {
      const answer = await post(body, { accept });
      expect([answer.status, answer.code, answer.control]).toEqual([status, code, "no-store"]);
      expect(answer.type).toBe(`${accept}; charset=utf-8`);
      expect(answer.text).not.toMatch(/ {4}at |node_modules|stacktrace/);
    }
  });

  test.each([
    ["tokens", `{ ${"a ".repeat(1_999)} }`],
    [
      "introspectionDepth",
      "{ __schema { types { fields { type { fields { type { fields { type { fields { name } } } } } } } } } }",
    ],
  ])("a document above the limit of %s is refused with the limit's name", async (limit, query) => {
    for (const accept of ["application/json", "application/graphql-response+json", "application/*"]) {
      const { status, text } = await post({ query }, { accept });
      expect([status, JSON.parse(text).errors]).toEqual([
        400,
        [
          expect.objectContaining({
            extensions: expect.objectContaining({ code: "graphql_refused", limit }),
          }),
        ],
      ]);
    }
  });

  test.each([
    "multipart/mixed",
    "multipart/mixed;incrementalSpec=v0.2",
    "multipart/mixed;deferSpec=20220824",
  ])("a document that is refused is answered with its errors in JSON to a client of %s", async (accept) => {
    for (const [query, code] of [
      ["{ nothing }", "GRAPHQL_VALIDATION_FAILED"],
      ["{ viewer { ... @defer { nothing } } }", "GRAPHQL_VALIDATION_FAILED"],
      ["{", "GRAPHQL_PARSE_FAILED"],
      [`{ ${"a ".repeat(1_999)} }`, "graphql_refused"],
    ]) {
      const answer = await post({ query }, { accept });
      expect([answer.status, answer.code, answer.type, answer.control]).toEqual([
        ...[400, code, JSON_TYPE, "no-store"],
      ]);
      expect(answer.text).not.toContain("accept");
    }
  });

  test.each([
    [
      "multipart/mixed;subscriptionSpec=1.0,application/graphql-response+json,application/json;q=0.9",
      GRAPHQL,
    ],
    ["application/json, application/graphql-response+json;q=0.5", JSON_TYPE],
    ["application/graphql-response+json;q=0, */*", JSON_TYPE],
    ["*/*", JSON_TYPE],
  ])("a refused credential is answered in the preferred media type of %s", async (accept, type) => {
    const query = "subscription { keyChanged { id } }";
    const answer = await post({ query }, { accept, authorization: "Bearer sk-wrong" });
    expect([answer.status, answer.code, answer.type]).toEqual([401, "invalid_api_key", type]);
  });

  test("every error of a document is reported at once", async () => {
    const { text } = await post({ query: "{ one two three }" });
    expect(JSON.parse(text).errors).toHaveLength(3);
  });

  test("a request that a page of another site can send without a preflight is refused", async () => {
    const query = encodeURIComponent("{ __typename }");
    const simple = [
      fetch(`${url()}?query=${query}`),
      ...["text/plain", "application/x-www-form-urlencoded"].map((type) =>
        fetch(url(), {
          method: "POST",
          headers: { "content-type": type },
          body: '{"query":"{ __typename }"}',
        }),
      ),
    ];
    for (const reply of await Promise.all(simple)) expect((await read(reply)).status).toBe(400);
    const asked = await fetch(`${url()}?query=${query}`, { headers: PREFLIGHT });
    expect((await read(asked)).text).toBe('{"data":{"__typename":"Query"}}\n');
  });

  test("a multipart upload is refused before its body is read, with what to send instead", async () => {
    const variables = { input: { model: MODEL, fileBase64: null } };
    const query =
      "mutation ($input: TranscribeAudioInput!) { transcribeAudio(input: $input) { __typename } }";
    for (const headers of [{}, PREFLIGHT, { accept: "text/event-stream" }])
      for (const bytes of [10, 2_000_000]) {
        const form = new FormData();
        form.set("operations", JSON.stringify({ query, variables }));
        form.set("map", JSON.stringify({ 0: ["variables.input.fileBase64"] }));
        form.set("0", new Blob([new Uint8Array(bytes)]), "speech.wav");
        const answer = await read(await fetch(url(), { method: "POST", headers, body: form }));
        expect([answer.status, answer.code, answer.control]).toEqual([
          ...[415, "unsupported_media_type", "no-store"],
        ]);
        expect(answer.text).toMatch(/Multipart uploads are not supported\..*base64.*`fileBase64`/);
      }
  });

  test("a mutation by GET changes nothing", async () => {
    const query = encodeURIComponent("mutation { createSignInNonce { nonce } }");
    const answer = await read(await fetch(`${url()}?query=${query}`, { headers: PREFLIGHT }));
    expect(answer.status).toBe(405);
  });
});

test("a document is known by its hash after it was sent once, unless it was refused", async () => {
  const persisted = (query: string) => ({
    extensions: {
      persistedQuery: { version: 1, sha256Hash: createHash("sha256").update(query).digest("hex") },
    },
  });
  const good = `query Q${newId().replaceAll("-", "")} { __typename }`;
  const bad = `{ nothing${newId().replaceAll("-", "")} }`;
  for (const query of [good, bad]) {
    expect((await post(persisted(query))).code).toBe("PERSISTED_QUERY_NOT_FOUND");
    await post({ query, ...persisted(query) });
  }
  expect((await post(persisted(good))).text).toBe('{"data":{"__typename":"Query"}}\n');
  expect((await post(persisted(bad))).code).toBe("PERSISTED_QUERY_NOT_FOUND");
});

describe("a persisted query that does not follow Apollo's protocol is a client error:", () => {
  const query = "{ __typename }";
  const hash = createHash("sha256").update(query).digest("hex");
  test.each([
    ["a hash of another text", query, { version: 1, sha256Hash: "0".repeat(64) }],
    ["another version", query, { version: 2, sha256Hash: hash }],
    ["another version without the text", undefined, { version: 2, sha256Hash: hash }],
    ["a number as hash", query, { version: 1, sha256Hash: 7 }],
    ["a number as hash without the text", undefined, { version: 1, sha256Hash: 7 }],
    ["no hash", query, { version: 1 }],
    ["not an object", query, "x"],
  ])("%s", async (_, query, persistedQuery) => {
    const extensions = { persistedQuery };
    const search = new URLSearchParams({ ...(query && { query }), extensions: JSON.stringify(extensions) });
    const answers = [
      await post({ query, extensions }),
      await read(await fetch(`${url()}?${search}`, { headers: PREFLIGHT })),
    ];
    for (const { status, code, text } of answers) {
      expect([status, code]).toEqual([400, "BAD_REQUEST"]);
      expect(text).toContain("persistedQuery");
    }
  });
});

describe("an ordinary request gets byte for byte the answer of Apollo Server", () => {
  const refused =
    'mutation { revokeApiKey(input: { id: "00000000-0000-0000-0000-000000000000" }) { apiKey { id } } }';
  test.each<[title: string, body: Readonly<Record<string, unknown>>]>([
    ["a query", { query: "{ network { name chainId } models { nodes { id } } }" }],
    ["one with a cache lifetime", { query: "{ models { nodes { id pricing { input } } } }" }],
    [
      "the named one of two operations",
      { query: "query A { a: __typename } query B { b: __typename }", operationName: "B" },
    ],
    ["two operations without a name", { query: "query A { a: __typename } query B { b: __typename }" }],
    ["an operation that does not exist", { query: "query A { __typename }", operationName: "C" }],
    [
      "variables",
      { query: "query ($first: Int!) { models(first: $first) { nodes { id } } }", variables: { first: 1 } },
    ],
    [
      "wrong variables",
      { query: "query ($first: Int!) { models(first: $first) { nodes { id } } }", variables: { first: "x" } },
    ],
    ["variables that are a list", { query: "{ __typename }", variables: [] }],
    ["a field that fails", { query: '{ network { name } models(after: "none") { nodes { id } } }' }],
    [
      "a field that the caller may not see",
      { query: "{ network { name } operatorNode { consensus { latestHeight } } }" },
    ],
    ["a mutation that is refused", { query: refused }],
    ["a subscription", { query: "subscription { blockAdded { number } }" }],
    ["introspection", { query: "{ __schema { queryType { name } } }" }],
    ["a document with an error", { query: "{ nothing }" }],
    ["no document", { query: "{" }],
    ["an empty one", { query: "" }],
    [
      "too many aliases",
      { query: `{ ${Array.from({ length: 20 }, (_, n) => `a${n}: __typename`).join(" ")} }` },
    ],
    ["an unknown member", { query: "{ __typename }", surprise: true }],
    [
      "the name of its client",
      { query: "{ __typename }", extensions: { clientLibrary: { name: "a", version: "1" } } },
    ],
    ["extensions that are a list", { query: "{ __typename }", extensions: [] }],
  ])("%s", async (_, body) => {
    for (const type of ["application/json", "application/graphql-response+json"]) {
      const plain = await post(body, { accept: type });
      // Requests that need content negotiation go through Apollo Server.
      expect(plain).toEqual(await post(body, { accept: `${type};q=0.9, text/*` }));
    }
  });

  test.each<[title: string, members: Readonly<Record<string, string>>]>([
    ["a query", { query: "{ models { nodes { id pricing { input } } } }" }],
    [
      "variables",
      { query: "query ($first: Int!) { models(first: $first) { nodes { id } } }", variables: '{"first":1}' },
    ],
    ["wrong variables", { query: "query ($first: Int!) { models(first: $first) { nodes { id } } }" }],
    ["variables that are not JSON", { query: "{ __typename }", variables: "{" }],
    ["a mutation", { query: "mutation { createSignInNonce { nonce } }" }],
    ["a subscription", { query: "subscription { newBlock { number } }" }],
    ["an error", { query: "{ nothing }" }],
    ["nothing", {}],
  ])("%s by GET", async (_, members) => {
    const get = async (accept: string) =>
      read(await fetch(`${url()}?${new URLSearchParams(members)}`, { headers: { ...PREFLIGHT, accept } }));
    for (const type of ["application/json", "application/graphql-response+json"])
      expect(await get(type)).toEqual(await get(`${type};q=0.9, text/*`));
  });
});

describe("a GET without a header that needs a preflight", () => {
  const get = async (headers: Record<string, string>, query = "{ __typename }") =>
    read(await fetch(`${url()}?${new URLSearchParams({ query })}`, { headers }));
  const accept = "application/graphql-response+json, application/json";

  test.each([
    ["of a program that accepts the media type of GraphQL", { accept }],
    ["of a page of this origin", { accept, "sec-fetch-site": "same-origin" }],
    [
      "of a page whose origin CORS allows",
      { accept, "sec-fetch-site": "same-site", origin: "http://localhost:5173" },
    ],
  ])("%s is answered", async (_, headers) => {
    const answer = await get(headers);
    expect([answer.status, answer.type]).toEqual([200, GRAPHQL]);
    expect(await get(headers, "{ nothing }")).toMatchObject({ code: "GRAPHQL_VALIDATION_FAILED" });
  });

  test.each([
    ["of a link or an image", { "sec-fetch-site": "cross-site" }],
    ["of a script of another site", { accept, "sec-fetch-site": "cross-site" }],
    [
      "of a page whose origin CORS does not allow",
      { accept, "sec-fetch-site": "cross-site", origin: "https://other.example" },
    ],
  ])("%s is refused", async (_, headers) => {
    expect(await get(headers)).toMatchObject({ status: 400, code: "BAD_REQUEST" });
  });
});

describe("each client receives its answer with its default settings:", () => {
  const models = "query Names { models { nodes { modelId } } }";
  const answers = {
    models: { nodes: expect.arrayContaining([expect.objectContaining({ modelId: MODEL })]) },
  };
  const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
  const askByApollo = (link: ApolloLink, query = models) =>
    new ApolloClient({ cache: new InMemoryCache(), link }).query({ query: gql(query) });

  test("Apollo Client", async () => {
    const { data } = await askByApollo(new HttpLink({ uri: url() }));
    expect(data).toMatchObject(answers);
  });

  test.each([false, true])("Apollo Client with persisted queries, by GET: %s", async (byGet) => {
    const methods: unknown[] = [];
    const http = new HttpLink({
      uri: url(),
      fetch: (input, init) => {
        methods.push(init?.method);
        return fetch(input, init);
      },
    });
    const link = new PersistedQueryLink({ sha256, useGETForHashedQueries: byGet }).concat(http);
    const query = `query N${newId().replaceAll("-", "")} { models { nodes { modelId } } }`;
    expect((await askByApollo(link, query)).data).toMatchObject(answers);
    expect((await askByApollo(link, query)).data).toMatchObject(answers);
    const byHash = byGet ? "GET" : "POST";
    expect(methods).toEqual([byHash, "POST", byHash]);
  });

  test.each([{}, { preferGetMethod: false }])("urql with %j", async (options) => {
    const client = createUrql({ url: url(), exchanges: [fetchExchange], ...options });
    const { data, error } = await client.query(models, {}).toPromise();
    expect(error).toBeUndefined();
    expect(data).toMatchObject(answers);
    const refused = await client.query("{ nothing }", {}).toPromise();
    expect(refused.error?.graphQLErrors).toMatchObject([
      { extensions: { code: "GRAPHQL_VALIDATION_FAILED" } },
    ]);
  });
});

test("answers that must not be cached are marked so", async () => {
  const { secret } = await seedAccount(stack().app.database, 1n);
  const answer = await post({ query: "{ viewer { kind } }" }, { authorization: `Bearer ${secret}` });
  expect([answer.status, answer.control]).toEqual([200, "no-store"]);
});

describe("the cache lifetime of an answer", () => {
  const controlOf = async (query: string, secret?: string) => {
    const headers = { ...PREFLIGHT, ...(secret && { authorization: `Bearer ${secret}` }) };
    const reply = await fetch(`${url()}?query=${encodeURIComponent(query)}`, { headers });
    expect(reply.headers.get("vary")).toBe("authorization, accept, origin");
    return reply.headers.get("cache-control");
  };
  const models = "{ models { nodes { id pricing { input } providers { address } } } }";

  test("is that of its field, for every request without a credential", async () => {
    expect(await controlOf(models)).toBe("max-age=5, public");
    const { secret } = await seedAccount(stack().app.database, 1n);
    expect(await controlOf(models, secret)).toBe("max-age=5, private");
  });

  test.each([
    ["a field without a lifetime is selected too", "{ models { nodes { id } } network { name } }"],
    ["a field failed", '{ models(after: "none") { nodes { id } } }'],
    ["it is refused", "{ models { nothing } }"],
  ])("is zero when %s", async (_, query) => {
    expect(await controlOf(query)).toBe("no-store");
  });
});

test("a field that the credential may not see is refused at its path, and the rest is answered", async () => {
  const { account, secret } = await seedAccount(stack().app.database, 1n);
  const query = `{ network { name } account(address: "${account}") { address balance { total } } }`;
  const anonymous = await ask(stack().origin, undefined, query);
  expect(anonymous).toMatchObject({
    status: 200,
    data: { network: { name: expect.any(String) }, account: { balance: null } },
  });
  expect(anonymous.errors).toMatchObject([
    { path: ["account", "balance"], extensions: { code: "missing_authorization" } },
  ]);
  const wrong = await ask(stack().origin, secret, query);
  expect(wrong.errors).toMatchObject([
    { path: ["account", "balance"], extensions: { code: "insufficient_scope" } },
  ]);
  const managed = await stack().app.managementKeys.create(account, newId(), ["keys:read"]);
  const keys = "{ viewer { account { address apiKeys { nodes { id } } balance { total } } } }";
  const partly = await ask(stack().origin, managed.secret, keys);
  expect(partly.data.viewer.account).toMatchObject({ apiKeys: { nodes: [{}] }, balance: null });
  expect(partly.errors).toMatchObject([
    { path: ["viewer", "account", "balance"], extensions: { code: "insufficient_scope" } },
  ]);
});

describe("a gateway whose subgraphs are slow or answer too much", () => {
  const ends: (() => Promise<unknown>)[] = [];
  /** The requests to each subgraph, and whether the gateway has disconnected since. */
  const asked: { readonly query: string; readonly path: string | undefined; gone: boolean }[] = [];
  /** Their answer; undefined for none at all. */
  let answer: string | undefined;
  let origin: string;
  beforeAll(async () => {
    const silent = createServer(async (request: IncomingMessage, response) => {
      if (request.url?.endsWith("/healthz")) return void response.end();
      let body = "";
      for await (const chunk of request) body += chunk;
      const seen = { query: (JSON.parse(body) as { query: string }).query, path: request.url, gone: false };
      asked.push(seen);
      response.once("close", () => {
        seen.gone = true;
      });
      if (answer !== undefined) response.setHeader("content-type", "application/json").end(answer);
    });
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    ends.unshift(
      async () => silent.closeAllConnections(),
      async () => silent.close(),
    );
    const address = silent.address();
    const place = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
    const urls = { accounts: `${place}/graphql`, inference: place, storage: place, chain: `${place}/chain` };
    const app = { ...stack().app, config: { ...stack().app.config, GRAPH_QUERY_MS: scaled(1_500) } };
    const graph = await openGraph({ kind: "remote", urls, secret: "a secret of tests, long enough" }, app);
    ends.unshift(() => graph.close());
    const server = await createGateway(app, graph);
    ends.unshift(() => server.close());
    origin = await server.listen({ host: "127.0.0.1", port: 0 });
  });
  afterAll(async () => {
    for (const end of ends) await end();
  });

  const send = (query: string, signal?: AbortSignal) =>
    fetch(`${origin}/graphql`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ query }),
      ...(signal && { signal }),
    });

  /** Sends an operation until it reaches a subgraph: on a busy machine its time may run out before. */
  async function sendUntilAsked(query: string) {
    return until(async () => {
      asked.length = 0;
      const leaving = new AbortController();
      let isOver = false;
      const answer = send(query, leaving.signal)
        .catch(() => "left")
        .finally(() => {
          isOver = true;
        });
      await until(() => asked.length === 1 || isOver);
      return !isOver && { answer, leaving };
    });
  }

  test("ends its requests to them as soon as the client disconnects", async () => {
    const { answer, leaving } = await sendUntilAsked("{ network { name } }");
    expect(asked[0]?.gone).toBe(false);
    leaving.abort();
    await until(() => asked[0]?.gone === true, 1_000);
    expect(await answer).toBe("left");
  });

  test("asks each of them at the path of its URL", async () => {
    answer = '{"data":null}';
    asked.length = 0;
    await send("{ network { name } }");
    await send("{ viewer { kind } }");
    answer = undefined;
    expect(asked.map(({ path }) => path)).toEqual(["/chain/graphql", "/graphql"]);
  });

  test("passes on their expected errors, and no text of any other", async () => {
    const answerTo = async (error: object) => {
      answer = JSON.stringify({ data: null, errors: [error] });
      const reply = await send("{ network { name } }");
      answer = undefined;
      return reply.text();
    };
    const secret = "select * from key at /srv/app.ts:7";
    const extensions = { code: "INTERNAL_SERVER_ERROR", stacktrace: [secret] };
    for (const error of [{ message: secret }, { message: secret, extensions }]) {
      const text = await answerTo(error);
      expect(JSON.parse(text).errors).toMatchObject([{ extensions: { code: "internal_error" } }]);
      expect(text).not.toMatch(/select|srv|stacktrace/);
    }
    const named = await answerTo({
      message: "No such thing.",
      extensions: { code: "not_found", stacktrace: [secret] },
    });
    expect(JSON.parse(named).errors).toMatchObject([
      { message: "No such thing.", extensions: { code: "not_found" } },
    ]);
    expect(named).not.toMatch(/select|srv|stacktrace/);
  });

  test("answers at the deadline of queries, by name", async () => {
    const since = performance.now();
    const answer = (await (await send("{ network { name } }")).json()) as { errors: object[] };
    expect(answer.errors).toMatchObject([{ extensions: { code: "unavailable" } }]);
    expect(performance.now() - since).toBeLessThan(scaled(1_500) + scaled(4_000));
  });

  test("does not begin the next mutation of a client that disconnected", async () => {
    const chained = `mutation { createSignInNonce { nonce } cancelImageJob(input: { id: "1" }) { imageJob { id } } }`;
    const { answer, leaving } = await sendUntilAsked(chained);
    leaving.abort();
    await until(() => asked[0]?.gone === true, 1_000);
    expect(await answer).toBe("left");
    // The gateway would have sent the request at once.
    await until(async () => {
      await send("{ network { name } }");
      return asked.length > 1;
    });
    const names = asked.map(({ query }) => /nonce|cancelImageJob|network/.exec(query)?.[0]);
    expect([...new Set(names)]).toEqual(["nonce", "network"]);
  });
});

describe("a gateway that accepts only trusted documents", () => {
  const ends: (() => Promise<unknown>)[] = [];
  const documents = { models: "{ models { nodes { id } } }", keys: "subscription { keyChanged { change } }" };
  let origin: string;
  beforeAll(async () => {
    const folder = mkdtempSync(join(tmpdir(), "documents-"));
    ends.unshift(async () => rmSync(folder, { recursive: true }));
    const path = join(folder, "documents.json");
    writeFileSync(path, JSON.stringify(documents));
    const { app } = stack();
    const config = { ...app.config, TRUSTED_DOCUMENTS: path, TRUSTED_DOCUMENTS_ONLY: "on" } as const;
    const graph = await openGraph({ kind: "local", app }, app);
    ends.unshift(() => graph.close());
    const server = await createGateway({ ...app, config }, graph);
    ends.unshift(() => server.close());
    origin = await server.listen({ host: "127.0.0.1", port: 0 });
  });
  afterAll(async () => {
    for (const end of ends) await end();
  });

  const send = async (path: string, body: object, accept = "application/json") => {
    const headers = { "content-type": "application/json", accept };
    const reply = await fetch(`${origin}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
    return { status: reply.status, text: await reply.text() };
  };
  const hash = createHash("sha256").update(documents.models).digest("hex");

  test.each([
    ["its id", { documentId: "models" }],
    ["its hash", { documentId: `sha256:${hash}` }],
    ["Apollo's extension", { extensions: { persistedQuery: { version: 1, sha256Hash: hash } } }],
    ["its own text", { query: documents.models }],
  ])("accepts one by %s, over HTTP and as a stream", async (_, body) => {
    expect(JSON.parse((await send("/graphql", body)).text)).toHaveProperty("data.models.nodes");
    expect((await send("/graphql/stream", body, "text/event-stream")).text).toContain('"data":{"models"');
  });

  test("accepts one by GET", async () => {
    const reply = await fetch(`${origin}/graphql?documentId=models`, { headers: PREFLIGHT });
    expect(await reply.json()).toHaveProperty("data.models.nodes");
  });

  test.each([
    ["the client's", String(BalanceDocument)],
    ["the client's cursor", EVENT_CURSOR],
    ["the command's", VIEWER_KIND],
    ["the command's stream", NEW_BLOCKS],
    ["the banner's", BANNER_QUERY],
    ["the banner's stream", BANNER_SUBSCRIPTION],
  ])("accepts %s own document, and only with exactly this text", async (_, query) => {
    const results = (text: string) => send("/graphql/stream", { query: text }, "text/event-stream");
    // Streams without a credential are refused, as everywhere; blocks are not.
    if (query !== NEW_BLOCKS) expect((await results(query)).text).not.toContain("trustedDocuments");
    expect((await results(`${query} `)).text).toContain("trustedDocuments");
  });

  test("accepts the client's operations and subscriptions", async () => {
    const { account } = await seedAccount(stack().app.database, 1n);
    const { secret } = await stack().app.managementKeys.create(account, newId(), ["account:read"]);
    const client = createClient({ url: origin, credential: secret });
    onTestFinished(() => client.dispose());
    expect(await client.query(BalanceDocument)).toHaveProperty("viewer.account.balance");
    const blocks = client.subscribe(NEW_BLOCKS, {});
    await until(() => blocks.state === "live");
    await blocks.return();
    expect(blocks.error).toBeUndefined();
  });

  test("accepts one over a socket, and nothing else anywhere", async () => {
    const socket = await followSocket(origin, undefined, "", { documentId: "keys" });
    await until(() => socket.failure !== undefined);
    expect(socket.failure?.[0]?.extensions?.code).toBe("missing_authorization");
    await socket.stop();
    const other = { query: "{ models { nodes { id pricing { input } } } }" };
    expect(await send("/graphql", other)).toMatchObject({
      status: 400,
      text: expect.stringContaining("trustedDocuments"),
    });
    expect((await send("/graphql/stream", other, "text/event-stream")).text).toMatch(
      /^data: .*trustedDocuments.*\n\nevent: complete$/m,
    );
    expect((await send("/graphql", { documentId: "nope" })).status).toBe(400);
    const refused = await followSocket(origin, undefined, other.query);
    await until(() => refused.failure !== undefined);
    expect(refused.failure?.[0]?.extensions?.code).toBe("graphql_refused");
    await refused.stop();
  });
});
