// @module-tag large
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { beforeAll, describe, expect, test } from "vitest";
import { routes } from "../../src/rest/routes.ts";
import { rawGet } from "../support/clients/raw-http.ts";
import { seedAccount } from "../support/seed.ts";
import { useStack } from "../support/stack.ts";

const PAGE = "https://app.example.com";
const stack = useStack({ CORS_ORIGINS: PAGE });
const closed = useStack();
let key = "";
beforeAll(async () => {
  key = (await seedAccount(stack().app.database, 10n ** 15n)).secret;
});

type Asked = { method?: string; headers?: Record<string, string>; body?: unknown };

const send = (path: string, { method, headers = {}, body }: Asked = {}, origin = stack().origin) =>
  fetch(origin + path, {
    method: method ?? (body === undefined ? "GET" : "POST"),
    headers: { ...(body !== undefined && { "content-type": "application/json" }), ...headers },
    ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });

/** Requires the headers of a failure, and returns its body. */
async function refusalOf(reply: Response, what: string): Promise<string> {
  const body = await reply.text();
  if (reply.status < 400) return body;
  expect(reply.headers.get("x-should-retry"), `${what} ${reply.status}`).toMatch(/^(?:true|false)$/);
  expect(reply.headers.has("retry-after"), what).toBe(reply.headers.get("x-should-retry") === "true");
  return body;
}

const OTHERS = [
  ...[
    "/",
    "/nothing",
    "/v1/nothing",
    "/v1/%E0%A4%A",
    "/file/nothing",
    "/healthz",
    "/readyz",
    "/openapi.json",
  ],
  ...[
    "/docs/",
    "/docs/nothing",
    "/docs/json",
    "/schema.graphql",
    "/dashboard",
    "/dashboard/assets/nothing.js",
  ],
  ...["/dashboard/session", "/dashboard/development-wallet/sign", "/graphql", "/graphql/stream"],
];
const PATHS = [...routes.map(({ url }) => url.replaceAll(/:\w+|\*/g, "x")), ...OTHERS];
const METHODS = ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"];

describe.each([...new Set(PATHS)])("every refusal at %s says whether to retry", (path) => {
  test.each(METHODS)("%s", async (method) => {
    const hasBody = method !== "GET" && method !== "HEAD";
    const asked: Asked[] = [
      {},
      { headers: { authorization: "Bearer sk-wrong" } },
      { headers: { authorization: `Bearer ${key}` } },
      { headers: { accept: "text/html", origin: "https://elsewhere.example" } },
      { headers: { accept: 'multipart/mixed;subscriptionSpec="1.0"' } },
      { headers: { accept: "text/event-stream", "access-control-request-method": "POST", origin: PAGE } },
      ...(hasBody
        ? [
            { body: "{" },
            { body: { query: "{ nothing }" }, headers: { authorization: `Bearer ${key}` } },
            { body: "<a/>", headers: { "content-type": "application/xml" } },
            { body: "{}", headers: { "content-encoding": "gzip" } },
          ]
        : []),
    ];
    for (const each of asked) {
      const reply = await send(path, { method, ...each });
      await refusalOf(reply, `${method} ${path} ${JSON.stringify(each)}`);
    }
  });
});

describe("an operation that is refused before it runs", () => {
  const MUTATION = "mutation { signOut { __typename } }";
  const LONG = `{ __typename ${" ".repeat(65_536)} }`;
  test.each<[string, number, string, Asked]>([
    [
      "by multipart",
      400,
      "/graphql",
      { body: { query: "{ nothing }" }, headers: { accept: "multipart/mixed;subscriptionSpec=1.0" } },
    ],
    [
      "a subscription by multipart",
      400,
      "/graphql",
      {
        body: { query: "subscription { nothing }" },
        headers: { accept: "multipart/mixed;subscriptionSpec=1.0" },
      },
    ],
    [
      "a mutation by GET of events",
      405,
      `/graphql/stream?query=${encodeURIComponent(MUTATION)}`,
      { headers: { accept: "text/event-stream" } },
    ],
    [
      "a reservation of another type",
      406,
      "/graphql/stream",
      { method: "PUT", headers: { accept: "image/png" } },
    ],
    ["a document that is too long", 400, "/graphql", { body: { query: LONG } }],
    ["a document that cannot be parsed", 400, "/graphql", { body: { query: "{" } }],
    ["no document", 400, "/graphql", { body: {} }],
    ["a batch", 400, "/graphql", { body: [{ query: "{ __typename }" }] }],
    [
      "a form of another site",
      400,
      "/graphql",
      { method: "POST", headers: { "content-type": "text/plain" }, body: "{}" },
    ],
    ["a GET that any page can send", 400, "/graphql?query=%7B__typename%7D", {}],
    [
      "a mutation by GET",
      405,
      `/graphql?query=${encodeURIComponent(MUTATION)}`,
      { headers: { accept: "application/json", "apollo-require-preflight": "1" } },
    ],
    [
      "variables that do not fit",
      400,
      "/graphql",
      { body: { query: "query ($a: Int!) { __typename @skip(if: $a) }" } },
    ],
  ])("%s: %i with the headers of every failure", async (what, status, path, asked) => {
    const reply = await send(path, asked);
    const body = await refusalOf(reply, what);
    expect(
      [reply.status, reply.headers.get("x-should-retry"), reply.headers.get("cache-control")],
      body,
    ).toEqual([status, "false", "no-store"]);
    if (reply.headers.get("content-type")?.includes("json"))
      expect(JSON.parse(body).errors[0].extensions.code, body).toEqual(expect.any(String));
  });
});

describe("OPTIONS", () => {
  const preflight = (origin: string): Asked => ({
    method: "OPTIONS",
    headers: { origin, "access-control-request-method": "POST" },
  });
  const failureOf = async (reply: Response) => {
    const { error, request_id } = JSON.parse(await refusalOf(reply, "OPTIONS"));
    expect(request_id).toBe(reply.headers.get("x-request-id"));
    return [reply.status, error.code, error.type, error.param];
  };

  test("of an unknown path is 404, as any other method is", async () => {
    const path = "/v1/nothing";
    for (const asked of [{ method: "OPTIONS" }, preflight(PAGE), preflight("https://elsewhere.example")])
      expect(await failureOf(await send(path, asked))).toEqual([
        404,
        "not_found",
        "invalid_request_error",
        null,
      ]);
  });

  test("of a known path lists its methods", async () => {
    const reply = await send("/v1/api-keys", { method: "OPTIONS" });
    expect([reply.status, reply.headers.get("allow")]).toEqual([204, "GET, HEAD, POST, OPTIONS"]);
  });

  test.each(["/v1/models", "/graphql", "/graphql/stream", "/dashboard/session"])(
    "%s refuses pages of other origins, and all pages when no origin is allowed",
    async (path) => {
      const refused = [403, "access_denied", "permission_error", null];
      const reply = await send(path, preflight("https://elsewhere.example"));
      expect(reply.headers.has("access-control-allow-origin")).toBe(false);
      expect(await failureOf(reply)).toEqual(refused);
      expect(await failureOf(await send(path, preflight(PAGE), closed().origin))).toEqual(refused);
      expect((await send(path, preflight(PAGE))).status).toBe(204);
    },
  );
});

describe("HEAD", () => {
  test.each([
    ["/", { accept: "text/html" }],
    ["/nothing", { accept: "text/html" }],
    ["/v1/models", {}],
    ["/v1/models/nothing", {}],
    ["/v1/account", {}],
    ["/v1/nothing", {}],
    ["/file/info/nothing", {}],
    ["/graphql", { accept: "text/html" }],
    ["/graphql?query=%7B__typename%7D", { accept: "application/json", "apollo-require-preflight": "1" }],
    ["/graphql?query=%7B", { accept: "application/json", "apollo-require-preflight": "1" }],
    ["/readyz", {}],
    ["/dashboard/assets/nothing.js", {}],
  ])("of %s is answered as GET, without the body", async (path, headers) => {
    const ids = { "x-request-id": "one" };
    const [get, head] = await Promise.all(
      ["GET", "HEAD"].map((method) =>
        rawGet(stack().origin, path, { method, headers: { ...headers, ...ids } }),
      ),
    );
    const headOf = ({ status, headers: sent }: Awaited<ReturnType<typeof rawGet>>) => {
      const {
        date,
        "x-ratelimit-remaining-requests": remaining,
        "x-ratelimit-reset-requests": reset,
        ...rest
      } = sent;
      return { status, rest };
    };
    if (!get || !head) throw new Error("both are answered");
    expect(headOf(head)).toEqual(headOf(get));
    expect(head.body.length).toBe(0);
  });
});

describe("a malformed HTTP request", () => {
  test.each([
    ["nonsense", "NONSENSE\r\n\r\n", 400],
    ["headers that are too large", `GET / HTTP/1.1\r\nhost: a\r\nx: ${"a".repeat(20_000)}\r\n\r\n`, 431],
  ])("%s has the body and headers of every failure", async (_, bytes, status) => {
    const { hostname, port } = new URL(stack().origin);
    const socket = connect(Number(port), hostname);
    socket.write(bytes);
    const [head = "", body = ""] = (await text(socket)).split("\r\n\r\n");
    expect(head).toContain(`HTTP/1.1 ${status} `);
    expect(head).toContain("x-should-retry: false");
    const { error, request_id } = JSON.parse(body);
    expect([error.code, error.type]).toEqual(["invalid_parameter", "invalid_request_error"]);
    expect(head).toContain(`x-request-id: ${request_id}`);
  });
});
