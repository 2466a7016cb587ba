// @module-tag large
import { once } from "node:events";
import { connect } from "node:net";
import { beforeAll, describe, expect, test } from "vitest";
import { SCOPES } from "../../src/keys/auth/principal.ts";
import { routes } from "../../src/rest/routes.ts";
import { openSession } from "../support/callers.ts";
import { MODEL } from "../support/chain/network.ts";
import { rawGet, rawPost } from "../support/clients/raw-http.ts";
import { type RestFailure, rest } from "../support/clients/rest-client.ts";
import { seedAccount } from "../support/seed.ts";
import { useStack } from "../support/stack.ts";
import { startPublisher } from "../support/storage/publisher.ts";

const PAGE = "https://app.example.com";
const stack = useStack({ CORS_ORIGINS: PAGE });

type Credentials = { readonly sk: string; readonly mk: string; readonly session: string };
type Described = {
  readonly paths: Readonly<Record<string, { readonly get: { readonly parameters: readonly Parameter[] } }>>;
};
type Parameter = {
  readonly name: string;
  readonly schema: { readonly minimum?: number; readonly maximum?: number };
};
let credentials: Credentials;
beforeAll(async () => {
  const { app } = stack();
  const { account, secret } = await seedAccount(app.database, 10n ** 15n);
  const { secret: mk } = await app.managementKeys.create(account, "all", SCOPES);
  credentials = { sk: secret, mk, session: await openSession(app, account) };
});

const ask = (path: string, as?: keyof Credentials, options: Parameters<typeof rest>[3] = {}) =>
  rest<RestFailure>(stack().origin, path, as && credentials[as], options);
const failureOf = ({ status, body }: Awaited<ReturnType<typeof ask>>) => [
  status,
  body.error.code,
  body.error.param,
];
/** The URL of a route with a value for each of its parameters. */
const filled = (url: string) => url.replaceAll(/:\w+|\*/g, "x");

describe("401", () => {
  const guarded = routes.filter(({ access }) => access !== "public");

  test.each(guarded)("$method $url names the authentication scheme", async ({ method, url }) => {
    const path = filled(url);
    const none = await ask(path, undefined, { method });
    expect([none.status, none.headers.get("www-authenticate")]).toEqual([401, 'Bearer realm="zerograph"']);
    const wrong = await rest(stack().origin, path, "sk-wrong", { method });
    expect([wrong.status, wrong.headers.get("www-authenticate")]).toEqual([
      401,
      'Bearer realm="zerograph", error="invalid_token"',
    ]);
  });

  test.each(["/graphql", "/graphql/stream"])("%s names it too", async (path) => {
    const { status, headers } = await rest(stack().origin, path, "sk-wrong", { body: { query: "{ a }" } });
    expect([status, headers.get("www-authenticate")]).toEqual([
      401,
      expect.stringContaining("invalid_token"),
    ]);
  });
});

describe("a method that a known path does not support", () => {
  const paths = new Set([...routes.map(({ url }) => url), "/graphql", "/openapi.json", "/healthz"]);

  test.each([...paths])("%s is 405 with Allow", async (url) => {
    const { status, headers, body } = await ask(filled(url), "session", { method: "PUT" });
    expect(status).toBe(405);
    const allowed = headers.get("allow")?.split(", ") ?? [];
    for (const { method } of routes.filter((route) => route.url === url)) expect(allowed).toContain(method);
    expect(allowed).not.toContain("PUT");
    if (url.startsWith("/v1")) expect(body.error.code).toBe("method_not_allowed");
  });

  test("below /v1/messages, like an unknown path there, is reported in Anthropic's shape", async () => {
    for (const [path, status] of [
      ["/v1/messages", 405],
      ["/v1/messages/nothing", 404],
    ] as const)
      expect(await ask(path)).toMatchObject({
        status,
        body: { type: "error", error: { type: expect.any(String) } },
      });
  });

  test("is reported before the content type of its body", async () => {
    const headers = { "content-type": "application/xml" };
    expect((await ask("/v1/models", undefined, { method: "PUT", body: "<a/>", headers })).status).toBe(405);
    expect((await ask("/v1/nothing", undefined, { method: "PUT", body: "<a/>", headers })).status).toBe(404);
  });
});

describe("a request for an upgrade that is not offered is answered as without it:", () => {
  const over = (upgrade: string) => ({ connection: "Upgrade, HTTP2-Settings", upgrade });

  test.each([
    ["/healthz", "h2c", 200],
    ["/v1/models", "h2c", 200],
    ["/v1/models", "websocket", 200],
    ["/v1/nothing", "websocket", 404],
    ["/graphql/socket", "websocket", 404],
    ["//", "websocket", 404],
    ["/graphql?query=%7B__typename%7D", "h2c", 400],
  ])("GET %s with %s", async (path, upgrade, status) => {
    const reply = await rawGet(stack().origin, path, { headers: over(upgrade) });
    expect([reply.status, reply.isWhole]).toEqual([status, true]);
    if (status === 404) expect(JSON.parse(String(reply.body)).error.code).toBe("not_found");
  });

  test("a POST, whose body is read", async () => {
    const json = { ...over("foo"), "content-type": "application/json" };
    const query = Buffer.from('{"query":"{ __typename }"}');
    expect(await rawPost(stack().origin, "/graphql", { body: query, headers: json })).toBe(200);
    const chat = Buffer.from(JSON.stringify({ model: MODEL, messages: [] }));
    const headers = { ...json, upgrade: "h2c", authorization: `Bearer ${credentials.sk}` };
    expect(await rawPost(stack().origin, "/v1/chat/completions", { body: chat, headers })).toBe(400);
  });
});

describe("OPTIONS", () => {
  const paths = new Set([...routes.map(({ url }) => filled(url)), "/graphql", "/healthz", "/"]);

  test.each([...paths])("%s lists the methods, whatever content type is announced", async (path) => {
    for (const headers of [{}, { "content-type": "application/json" }]) {
      const reply = await rawGet(stack().origin, path, { method: "OPTIONS", headers });
      expect([reply.status, reply.headers.allow]).toEqual([204, expect.stringContaining("OPTIONS")]);
    }
  });
});

test.each(["/docs/", "/mcp", "/file/segment", "/graphql/stream", "/v1/models", "/"])(
  "%s lists the same methods for OPTIONS and for a method that it does not support",
  async (path) => {
    const listed = async (method: string) => {
      const { headers, status } = await rawGet(stack().origin, path, { method });
      const methods = String(headers.allow).split(", ");
      return { status, methods: methods.filter((name) => name !== "OPTIONS").toSorted() };
    };
    const [refused, options] = [await listed("TRACE"), await listed("OPTIONS")];
    expect([refused.status, options.status]).toEqual([405, 204]);
    expect(options.methods).toEqual(refused.methods);
    // Whoever is no browser is told that the page at the root does not exist.
    for (const method of path === "/" ? [] : ["GET", "HEAD"]) {
      const { status } = await rawGet(stack().origin, path, { method });
      expect(options.methods.includes(method), method).toBe(status !== 405);
    }
  },
);

describe("a request refused before routing has the error body of every failure:", () => {
  /** The status and the body of the answer to these raw bytes. */
  async function send(...lines: string[]) {
    const { hostname, port } = new URL(stack().origin);
    const socket = connect(Number(port), hostname);
    const chunks: Buffer[] = [];
    socket.on("data", (chunk) => chunks.push(chunk));
    socket.write(`${lines.join("\r\n")}\r\n\r\n`);
    await once(socket, "close");
    const [head = "", body = ""] = Buffer.concat(chunks).toString().split("\r\n\r\n");
    const { error, request_id } = JSON.parse(body) as RestFailure & { request_id: string };
    return [Number(head.split(" ")[1]), error.code, error.param, typeof request_id];
  }

  test("a missing Host", async () => {
    const refused = [400, "invalid_parameter", "Host", "string"];
    expect(await send("GET /v1/models HTTP/1.1")).toEqual(refused);
    expect(await send("GET /v1/nothing HTTP/1.1")).toEqual(refused);
  });

  test.each([
    ["of two lines", "Host: a.example", "Host: b.example"],
    ["with a space", "Host: a b"],
    ["with a path", "Host: a/b?c#d@e"],
    ["with a user", "Host: user@a"],
    ["with a port that is no number", "Host: a:b"],
  ])("a Host %s", async (_name, ...hosts) => {
    for (const version of ["1.1", "1.0"])
      expect(await send(`GET /v1/models HTTP/${version}`, ...hosts)).toEqual([
        400,
        "invalid_parameter",
        "Host",
        "string",
      ]);
  });

  test.each(["a", "a.example:80", "127.0.0.1:8080", "[::1]:80", "a:", ""])(
    "but not the Host %j",
    async (host) => {
      const { hostname, port } = new URL(stack().origin);
      const socket = connect(Number(port), hostname);
      socket.write(`GET /healthz HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
      const answer = Buffer.concat(await socket.toArray()).toString();
      expect(answer).toMatch(/^HTTP\/1.1 200 /);
    },
  );

  test("a transfer coding that is not decoded", async () => {
    const lines = ["Host: a", "Content-Type: application/json", "Transfer-Encoding: gzip, chunked"];
    expect(await send("POST /v1/chat/completions HTTP/1.1", "Connection: close", ...lines, "", "0")).toEqual([
      415,
      "unsupported_media_type",
      "Transfer-Encoding",
      "string",
    ]);
  });

  test("an unknown Expect", async () => {
    const refused = [417, "invalid_parameter", "Expect", "string"];
    expect(await send("GET /v1/models HTTP/1.1", "Host: a", "Expect: foo")).toEqual(refused);
    const body = ["Content-Type: application/json", "Content-Length: 9"];
    expect(await send("POST /graphql HTTP/1.1", "Host: a", "Expect: foo", ...body)).toEqual(refused);
  });

  test.each(["/docs/static/nope", "/docs/static/..", "/docs/static/%2e%2e/x", "/docs/static/%00"])(
    "the file %s, which the documentation does not have",
    async (path) => {
      expect((await send(`GET ${path} HTTP/1.1`, "Host: a", "Connection: close")).slice(0, 2)).toEqual([
        404,
        "not_found",
      ]);
    },
  );

  test("a file that the dashboard does not have", async () => {
    const { status, headers, body } = await ask("/dashboard/assets/nope.js");
    // 503 where the dashboard is not built.
    expect([404, 503]).toContain(status);
    const { message, ...error } = body.error;
    expect([typeof message, error.param]).toEqual(["string", null]);
    expect(["not_found", "unavailable"]).toContain(error.code);
    expect(body).toHaveProperty("request_id", headers.get("x-request-id"));
  });
});

test("a slash at the end of a path changes nothing", async () => {
  const outcomeOf = ({ status, body }: Awaited<ReturnType<typeof ask>>) => [status, body.error?.code];
  for (const { method, url, access } of routes.filter(({ url }) => url !== "/" && !url.endsWith("*"))) {
    const as = access === "public" ? undefined : "sk";
    const plain = await ask(filled(url), as, { method });
    expect(outcomeOf(await ask(`${filled(url)}/`, as, { method })), `${method} ${url}/`).toEqual(
      outcomeOf(plain),
    );
  }
  const slashed = await ask("/v1/models/?no_such=1");
  expect(failureOf(slashed)).toEqual([400, "invalid_parameter", "no_such"]);
  expect((await ask("/v1/models/")).body).toEqual((await ask("/v1/models")).body);
});

test.each(["org/model", "org%2Fmodel", "a/b/c"])("a model's id may have slashes: %s", async (id) => {
  const { status, body } = await ask(`/v1/models/${id}`);
  expect([status, body.error.code]).toEqual([404, "model_not_found"]);
  expect(body.error.message).toContain(JSON.stringify(decodeURIComponent(id)));
});

test("an unknown query parameter is refused by every route, by its name", async () => {
  for (const { method, url, access, errors } of routes) {
    if (errors === "rpc") continue;
    const isSpending = ["inference.run", "job.submit", "routing.preview", "own-key.read"].includes(access);
    const as = isSpending ? "sk" : "session";
    const required = url === "/v1/generation" ? "&id=none" : "";
    const reply = await ask(`${filled(url)}?no_such=1${required}`, access === "public" ? undefined : as, {
      method,
    });
    expect(reply.status, `${method} ${url}`).toBe(400);
    expect(JSON.stringify(reply.body), `${method} ${url}`).toContain("no_such");
    if (errors === "openai")
      expect(failureOf(reply), `${method} ${url}`).toEqual([400, "invalid_parameter", "no_such"]);
  }
});

test.each([
  ["/v1/models?=1", "", ": is not known here"],
  ["/v1/account/usage/history?limit=1&limit=2", "limit", "limit: was sent twice"],
  ["/v1/account/usage/history?model_id=a&model_id=b", "model_id", "model_id: was sent twice"],
  ["/v1/account/usage/history?limit=x", "limit", "limit: must be"],
])("the fault of the query of %s is that of the parameter %j", async (path, param, reason) => {
  const { status, body } = await ask(path, "mk");
  expect([status, body.error.param]).toEqual([400, param]);
  expect(body.error.message).toContain(reason);
});

test.each([
  ["/v1/account/usage/history", "limit"],
  ["/v1/account/usage/history", "offset"],
  ["/v1/account/usage/tags", "limit"],
  ["/v1/api-keys", "limit"],
  ["/v1/batches", "limit"],
  ["/v1/files", "limit"],
  ["/v1/async/jobs", "limit"],
])("%s takes %s as a whole number in digits, as the document describes it", async (path, name) => {
  const { paths } = (await ask("/openapi.json")).body as unknown as Described;
  const described = paths[path]?.get.parameters.find((parameter) => parameter.name === name);
  const { minimum = 0, maximum = 0, ...type } = described?.schema ?? {};
  expect(type).toEqual({ type: "integer", default: expect.any(Number) });
  const tag = path.endsWith("/tags") ? "&name=team" : "";
  const as = /files|batches|async/.test(path) ? "sk" : "mk";
  for (const value of [minimum, maximum])
    expect((await ask(`${path}?${name}=${value}${tag}`, as)).status).toBe(200);
  for (const value of [minimum - 1, maximum + 1, "0x10", "1e1", "%201", "", "1.0"]) {
    const reply = await ask(`${path}?${name}=${value}${tag}`, as);
    expect(failureOf(reply), `${value}`).toEqual([400, "invalid_parameter", name]);
    expect(reply.body.error.message).toBe(`${name}: must be a whole number from ${minimum} to ${maximum}`);
  }
});

describe("param is the name that the client sent", () => {
  test("also of a maximum price, in a header and in the body", async () => {
    const path = "/v1/chat/completions";
    const chat = { model: MODEL, messages: [{ role: "user", content: "a" }] };
    const inBody = { ...chat, provider: { max_price: { prompt: 0 } } };
    const header = "X-0G-Provider-Max-Price-Usd-Prompt";
    const refusals = [
      await ask(path, "sk", { body: inBody }),
      await ask(path, "sk", { body: chat, headers: { [header]: "0" } }),
    ];
    expect(refusals.map(({ status }) => status)).toEqual([400, 400]);
    const [own, sent] = refusals.map(({ body }) => String(body.error.param));
    expect([own, sent?.toLowerCase()]).toEqual(["provider.max_price.prompt", header.toLowerCase()]);
  });

  test.each<[string, object | undefined, Record<string, string>, string, keyof Credentials]>([
    ["/v1/api-keys", { label: "a", expiration: "2001-01-01T00:00:00Z" }, {}, "expiration", "mk"],
    ["/v1/api-keys", { label: "a\u2028b" }, {}, "label", "mk"],
    ["/v1/api-keys", { name: "a\u2028b" }, {}, "name", "mk"],
    ["/v1/api-keys", { name: "\u200b" }, {}, "name", "mk"],
    ["/v1/management-keys", { name: "a\u202eb", scopes: ["account:read"] }, {}, "name", "session"],
    ["/v1/api-keys", { label: "a", no_such: 1 }, {}, "no_such", "mk"],
    ["/v1/api-keys?cursor=nonsense", undefined, {}, "cursor", "mk"],
    ["/v1/management-keys?cursor=nonsense", undefined, {}, "cursor", "session"],
    ["/v1/account/usage/history?cursor=nonsense", undefined, {}, "cursor", "mk"],
    // No price of the token is configured.
    ["/v1/models?pricing=usd", undefined, {}, "pricing", "sk"],
    ...["X-0G-Provider-Sort", "x-platform-provider-sort", "X-Platform-Provider-Max-Price-Usd-Prompt"].map(
      (name): [string, object, Record<string, string>, string, keyof Credentials] => [
        "/v1/routing/preview",
        { service_type: "chatbot" },
        { [name]: "nonsense" },
        name.toLowerCase(),
        "sk",
      ],
    ),
  ])("%s %j %j", async (path, body, headers, param, as) => {
    const reply = await ask(path, as, { ...(body && { body }), headers });
    expect(reply.status).toBe(400);
    // Not every HTTP client keeps the spelling of headers.
    expect([param, reply.body.error.param]).toContain(reply.body.error.param?.toLowerCase());
    expect(reply.body.error.param?.toLowerCase()).toBe(param);
  });

  test("also of a name that is taken", async () => {
    for (const field of ["name", "label"]) {
      const body = { [field]: `taken by ${field}` };
      expect((await ask("/v1/api-keys", "mk", { body })).status).toBe(201);
      expect(failureOf(await ask("/v1/api-keys", "mk", { body }))).toEqual([409, "duplicate_name", field]);
    }
  });
});

test("an unsupported content type has one error text, which names the supported ones", async () => {
  for (const type of [
    "text/plain",
    "multipart/form-data; boundary=a",
    "application/json, text/plain",
    "json",
  ]) {
    const reply = await ask("/v1/chat/completions", "sk", { body: "a", headers: { "content-type": type } });
    expect([reply.status, reply.body.error.message]).toEqual([415, "Send the body as application/json."]);
    expect(reply.body.error.param).toBe("Content-Type");
  }
});

describe("/v1/management-keys", () => {
  test.each(["", "/", "/x", "/x/", "/x/y", "/x/rotate/now", "//x", "/%2e%2e"])(
    "with %j after it is 403 for keys and 401 without one, with every method",
    async (rest) => {
      for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE"])
        for (const [as, status] of [
          ["sk", 403],
          ["mk", 403],
          [undefined, 401],
        ] as const) {
          const { sk, mk } = credentials;
          const secret = as === "sk" ? sk : mk;
          const reply = await rawGet(stack().origin, `/v1/management-keys${rest}`, {
            method,
            headers: as ? { authorization: `Bearer ${secret}` } : {},
          });
          expect(reply.status, `${method} ${as}`).toBe(status);
        }
    },
  );

  test("is 404 or 405 for a session on an unknown path or method", async () => {
    expect(failureOf(await ask("/v1/management-keys/x/y", "session"))).toEqual([404, "not_found", null]);
    expect((await ask("/v1/management-keys/x", "session")).status).toBe(405);
  });
});

test("a repeated request with malformed headers or an unknown parameter is refused, and not answered from the store", async () => {
  const body = { model: MODEL, messages: [{ role: "user", content: "Hi" }], max_tokens: 2 };
  const headers = { "idempotency-key": "repeated-with-other-headers" };
  const path = "/v1/chat/completions";
  const first = await ask(path, "sk", { body, headers });
  expect(first.status).toBe(200);
  const malformed = { ...headers, "x-0g-provider-sort": "nonsense" };
  expect((await ask(path, "sk", { body, headers: malformed })).status).toBe(400);
  expect((await ask(`${path}?no_such=1`, "sk", { body, headers })).status).toBe(400);
  const again = await ask(path, "sk", { body, headers });
  expect([again.status, again.headers.get("idempotent-replayed")]).toEqual([200, "true"]);
});

describe("preconditions of a download", () => {
  let path: string;
  let etag: string;
  beforeAll(async () => {
    const publisher = await startPublisher(stack());
    const { root } = await publisher.publish(Buffer.from("a file with conditions"));
    path = `/file?root=${root}`;
    etag = `"${root}"`;
  });
  const longAgo = "Mon, 01 Jan 2001 00:00:00 GMT";
  const inTheFuture = "Fri, 01 Jan 2100 00:00:00 GMT";

  test.each<[string, () => Record<string, string>, number]>([
    ["its tag", () => ({ "if-match": etag }), 200],
    ["its tag among others", () => ({ "if-match": `"other", ${etag}` }), 200],
    ["any tag", () => ({ "if-match": "*" }), 200],
    ["another tag", () => ({ "if-match": '"other"' }), 412],
    ["its weak tag", () => ({ "if-match": `W/${etag}` }), 412],
    ["a date after it was stored", () => ({ "if-unmodified-since": inTheFuture }), 200],
    ["a date before it was stored", () => ({ "if-unmodified-since": longAgo }), 412],
    [
      "a date before it, as of RFC 850",
      () => ({ "if-unmodified-since": "Sunday, 06-Nov-94 08:49:37 GMT" }),
      412,
    ],
    ["a date before it, as of asctime", () => ({ "if-unmodified-since": "Sun Nov  6 08:49:37 1994" }), 412],
    ["not a date", () => ({ "if-unmodified-since": "yesterday" }), 200],
    [
      "its tag, which takes precedence over a date",
      () => ({ "if-match": etag, "if-unmodified-since": longAgo }),
      200,
    ],
  ])("%s", async (_name, headers, status) => {
    for (const method of ["GET", "HEAD"])
      for (const query of ["", "&withProof=true"])
        expect(
          (await rawGet(stack().origin, path + query, { method, headers: headers() })).status,
          `${method} ${query}`,
        ).toBe(status);
  });
});

describe("a page of an allowed origin", () => {
  /** Headers that pages may read of every answer (Fetch), and those of the connection and of CORS. */
  const ALWAYS = new Set(
    "cache-control content-language content-length content-type expires last-modified pragma".split(" "),
  );
  const OF_THE_CONNECTION = /^(?:access-control-|connection$|date$|keep-alive$|transfer-encoding$|vary$)/;
  const OF_THE_BROWSER =
    /^(?:content-security-policy|cross-origin-|x-content-type-options|x-accel-buffering|referrer-policy)/;

  test("may read every header that is sent, and Vary names each header once", async () => {
    const chat = { model: MODEL, messages: [{ role: "user", content: "Hi" }], max_tokens: 2 };
    const origin = { origin: PAGE };
    const query = { query: "{ network { name } }" };
    const replies = [
      await ask("/v1/chat/completions", "sk", { body: chat, headers: origin }),
      await ask("/v1/chat/completions", "sk", { body: { ...chat, model: "none" }, headers: origin }),
      await ask("/v1/messages", "sk", { body: chat, headers: origin }),
      await ask("/v1/account", undefined, { headers: origin }),
      await ask("/v1/account", undefined, { method: "PUT", headers: origin }),
      await ask("/v1/models", undefined, { headers: origin }),
      await ask("/v1/nothing", undefined, { headers: origin }),
      await ask("/graphql", "sk", { body: query, headers: origin }),
      await ask("/graphql", undefined, { body: { query: "{ __typename }" }, headers: origin }),
      await ask(`/file?root=0x${"0".repeat(64)}`, undefined, { headers: origin }),
    ];
    for (const { headers } of replies) {
      const exposed = headers.get("access-control-expose-headers")?.toLowerCase().split(", ") ?? [];
      for (const name of headers.keys())
        if (!ALWAYS.has(name) && !OF_THE_CONNECTION.test(name) && !OF_THE_BROWSER.test(name))
          expect(exposed).toContain(name);
      const vary = (headers.get("vary") ?? "").toLowerCase().split(", ");
      if (headers.get("access-control-allow-origin") !== "*") expect(vary).toContain("origin");
      expect(new Set(vary).size, vary.join()).toBe(vary.length);
    }
    const [{ headers } = { headers: new Headers() }] = replies;
    expect(headers.has("x-ratelimit-limit-requests")).toBe(true);
  });

  test.each([
    [
      "the routing headers under every spelling",
      "x-0g-provider-sort,X-Platform-Provider-Max-Price-Usd-Prompt",
    ],
    [
      "the headers of the official SDKs",
      "anthropic-version, x-api-key, x-stainless-helper, x-stainless-poll-helper",
    ],
    [
      "the headers of Apollo Client",
      "apollographql-client-name,apollographql-client-version,x-apollo-operation-name",
    ],
  ])("may send %s", async (_name, names) => {
    const preflight = (wanted: string, from = PAGE) =>
      ask("/v1/messages", undefined, {
        method: "OPTIONS",
        headers: {
          origin: from,
          "access-control-request-method": "POST",
          "access-control-request-headers": wanted,
        },
      });
    expect((await preflight(names)).headers.get("access-control-allow-headers")).toBe(names);
    for (const reply of [await preflight(`${names}, a b`), await preflight(names, "https://other.example")])
      expect(reply.headers.has("access-control-allow-headers")).toBe(false);
  });

  test("gets its own answer from a cache, also where another client was first", async () => {
    const query = `/graphql?query=${encodeURIComponent("{ network { name } }")}`;
    const headers = { accept: "application/graphql-response+json" };
    const replies = [
      await ask(query, undefined, { headers }),
      await ask(query, undefined, { headers: { ...headers, "apollo-require-preflight": "1" } }),
      await ask("/v1/models"),
      await ask("/v1/nothing"),
    ];
    for (const { headers } of replies) expect(headers.get("vary")).toContain("origin");
    const file = await ask(`/file?root=0x${"0".repeat(64)}`, undefined, { headers: { origin: PAGE } });
    expect(file.headers.get("access-control-allow-origin")).toBe("*");
    expect(file.headers.get("vary") ?? "").not.toContain("origin");
  });
});
