// @module-tag large
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { connect } from "node:net";
import { buildSchema, parse } from "graphql";
import { createClient as createSseClient } from "graphql-sse";
import { CloseCode } from "graphql-ws";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { WebSocket } from "ws";
import { Turns } from "../../../gateway/http/turns.ts";
import { ConnectionCaps } from "../../../gateway/subscriptions/connection-caps.ts";
import { StreamingResponse } from "../../../gateway/subscriptions/streaming-response.ts";
import type { Streams } from "../../../gateway/subscriptions/streams.ts";
import { serveWebSockets } from "../../../gateway/subscriptions/streams.ws.ts";
import { GRAPH_LIMITS } from "../../../src/graph-limits.ts";
import { newId } from "../../../src/kernel/text/ids.ts";
import { ask, followEvents, followSocket } from "../../support/clients/graph-client.ts";
import { untilPublished } from "../../support/events.ts";
import { seedAccount } from "../../support/seed.ts";
import { useStack } from "../../support/stack.ts";
import { until } from "../../support/until.ts";

const LIMITS = {
  initMs: 1_500,
  heartbeatMs: 700,
  socketsPerKey: 3,
  streamsPerKey: 4,
  subscriptionsPerSocket: 5,
  messagesPerSecond: 50,
  connections: 12,
};
const GRAPH = Object.entries(LIMITS).map(([name, value]) => `${name}=${value}`);
const stack = useStack({ GRAPH_LIMITS: GRAPH.join(","), CLIENT_STALL_MS: "1000" });

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
  await until(() => stack().app.events.openStreams === 0 && stack().app.credentialWatch.size === 0);
});

type Owner = {
  readonly account: string;
  readonly secret: string;
  readonly keyId: string;
  change(): Promise<void>;
};

/** An mk- key whose account's keys change on demand: each change is one event. */
async function newOwner(): Promise<Owner> {
  const { account } = await seedAccount(stack().app.database, 1n);
  const { key, secret } = await stack().app.managementKeys.create(account, newId(), ["keys:read"]);
  const change = async () => void (await stack().app.apiKeys.create(account, newId()));
  await untilPublished(stack().app.database);
  return { account, secret, keyId: key.id, change };
}

const KEYS = "subscription { keyChanged { id cursor kind change } }";
const PROTOCOL = "graphql-transport-ws";

type Message = { type: string; id?: string; payload?: never };

/** A client that sends what the test says, and follows no protocol. */
function openRaw(origin = stack().origin, protocol: string | undefined = PROTOCOL, options = {}) {
  const url = `${origin.replace("http", "ws")}/graphql`;
  const socket = protocol ? new WebSocket(url, protocol, options) : new WebSocket(url, options);
  const got: Message[] = [];
  socket.on("message", (data) => got.push(JSON.parse(String(data))));
  socket.on("error", () => {});
  const closed = new Promise<{ code: number; reason: string }>((resolve) =>
    socket.once("close", (code, reason) => resolve({ code, reason: String(reason) })),
  );
  ends.push(() => socket.terminate());
  const opened = new Promise<void>((resolve) => socket.once("open", () => resolve()));
  const send = (message: unknown) =>
    socket.send(typeof message === "string" ? message : JSON.stringify(message));
  return { socket, got, closed, opened, send };
}

async function openAcknowledged(secret?: string, options = {}) {
  const raw = openRaw(undefined, PROTOCOL, options);
  await raw.opened;
  raw.send({ type: "connection_init", ...(secret && { payload: { authorization: `Bearer ${secret}` } }) });
  await until(() => raw.got.some(({ type }) => type === "connection_ack") || raw.socket.readyState > 1);
  return raw;
}

const subscribe = (id: string, query = KEYS) => ({ type: "subscribe", id, payload: { query } });

describe("a socket is closed with", () => {
  test.each([
    ["not JSON", "{"],
    ["a message without a type", "{}"],
    ["a message of an unknown type", { type: "start" }],
    ["an operation without a text", { type: "subscribe", id: "1", payload: {} }],
    ["a result, which only servers send", { type: "next", id: "1", payload: { data: null } }],
    ["an error, which only servers send", { type: "error", id: "1", payload: [{ message: "no" }] }],
    ["an acknowledgement, which only servers send", { type: "connection_ack" }],
  ])("4400 for %s", async (_, message) => {
    const logged = vi.spyOn(stack().app.log, "error");
    onTestFinished(() => logged.mockRestore());
    const { send, closed } = await openAcknowledged();
    send(message);
    expect(await closed).toEqual({ code: CloseCode.BadRequest, reason: "Invalid message received" });
    expect(logged).not.toHaveBeenCalled();
  });

  test("4400 for a message that only servers send before the acknowledgement", async () => {
    const { opened, send, closed } = openRaw();
    await opened;
    send({ type: "connection_ack" });
    expect((await closed).code).toBe(CloseCode.BadRequest);
  });

  test("4401 for a subscription before the acknowledgement", async () => {
    const { opened, send, closed } = openRaw();
    await opened;
    send(subscribe("1"));
    expect((await closed).code).toBe(CloseCode.Unauthorized);
  });

  test("4403 for a wrong credential", async () => {
    const { closed } = await openAcknowledged("sk-wrong");
    expect(await closed).toEqual({
      code: CloseCode.Forbidden,
      reason: expect.stringMatching(/^invalid_api_key: /),
    });
  });

  test("4403 when the credential ends", async () => {
    const { account, secret, keyId } = await newOwner();
    const { closed } = await openAcknowledged(secret);
    await stack().app.managementKeys.revoke(account, keyId);
    const { code, reason } = await closed;
    expect([code, reason]).toEqual([CloseCode.Forbidden, expect.stringMatching(/^[a-z_]+: \S/)]);
  });

  test("4406 for another protocol than graphql-transport-ws", async () => {
    const { closed } = openRaw(undefined, "");
    expect((await closed).code).toBe(CloseCode.SubprotocolNotAcceptable);
  });

  test("4408 for a client that does not initialise", async () => {
    const { closed } = openRaw();
    expect((await closed).code).toBe(CloseCode.ConnectionInitialisationTimeout);
  });

  test("4409 for an id that is in use", async () => {
    const { secret } = await newOwner();
    const { send, closed } = await openAcknowledged(secret);
    send(subscribe("1"));
    send(subscribe("1"));
    expect(await closed).toEqual({
      code: CloseCode.SubscriberAlreadyExists,
      reason: "Subscriber for 1 already exists",
    });
  });

  test("4429 for a second initialisation", async () => {
    const { send, closed } = await openAcknowledged();
    send({ type: "connection_init" });
    expect((await closed).code).toBe(CloseCode.TooManyInitialisationRequests);
  });

  test("4429 for one subscription too many, also after many that were refused", async () => {
    const { secret } = await newOwner();
    const { send, got, closed } = await openAcknowledged(secret);
    for (let n = 1; n <= 20; n++) {
      send(subscribe(`bad ${n}`, "{ nothing }"));
      await until(() => got.filter(({ type }) => type === "error").length === n);
    }
    for (let n = 0; n <= LIMITS.subscriptionsPerSocket; n++) send(subscribe(String(n)));
    expect(await closed).toMatchObject({ code: 4429, reason: "Too many subscriptions on one socket" });
  });

  test("an operation beyond the subscriptions of a socket, which closes it, is not carried out", async () => {
    const { account } = await newOwner();
    const scopes = ["keys:read", "keys:create"] as const;
    const { secret } = await stack().app.managementKeys.create(account, newId(), scopes);
    const { socket, send, closed } = await openAcknowledged(secret);
    for (let n = 0; n < LIMITS.subscriptionsPerSocket; n++) send(subscribe(String(n)));
    const creating = (name: string) =>
      `mutation { createApiKey(input: { name: "${name}" }) { apiKey { id } } }`;
    const [refused, later] = [newId(), newId()];
    // The socket stays as it is until its client, which reads nothing, answers the close.
    socket.pause();
    send(subscribe("create", creating(refused)));
    await ask(stack().origin, secret, creating(later));
    const query = "{ viewer { account { apiKeys(first: 100) { nodes { name } } } } }";
    const { data } = await ask(stack().origin, secret, query);
    const names = data.viewer.account.apiKeys.nodes.map(({ name }: { readonly name: string }) => name);
    expect(names).toContain(later);
    expect(names).not.toContain(refused);
    socket.resume();
    expect((await closed).code).toBe(4429);
  });

  test("4429 for one message too many in a second", async () => {
    const { send, closed } = await openAcknowledged();
    for (let n = 0; n < 3 * LIMITS.messagesPerSecond; n++) send({ type: "ping" });
    expect(await closed).toMatchObject({ code: 4429, reason: "Too many messages" });
  });

  test("4429 for one socket too many of a key, until one of them is closed", async () => {
    const { secret } = await newOwner();
    const [first] = await Promise.all([1, 2, 3].map(() => openAcknowledged(secret)));
    const fourth = await openAcknowledged(secret);
    expect(await fourth.closed).toMatchObject({ code: 4429, reason: "Too many sockets for one key" });
    first?.socket.close();
    await first?.closed;
    const again = await openAcknowledged(secret);
    expect(again.socket.readyState).toBe(WebSocket.OPEN);
  });

  test("1009 for a frame above 64 KiB", async () => {
    const { send, closed } = await openAcknowledged();
    send(subscribe("1", `{ __typename } #${"x".repeat(65_536)}`));
    expect((await closed).code).toBe(1009);
  });

  test("1013 when the process has no slot left", async () => {
    const places = Array.from({ length: LIMITS.connections }, () => openRaw());
    await Promise.all(places.map(({ opened }) => opened));
    expect((await openRaw().closed).code).toBe(1013);
  });

  test("1006 when the client answers no pings, and not before", async () => {
    const { secret } = await newOwner();
    const silent = await openAcknowledged(secret, { autoPong: false });
    const alive = await openAcknowledged(secret);
    const since = performance.now();
    expect((await silent.closed).code).toBe(1006);
    expect(performance.now() - since).toBeGreaterThan(LIMITS.heartbeatMs / 2);
    expect(alive.socket.readyState).toBe(WebSocket.OPEN);
  });

  describe("on a separate gateway,", () => {
    async function serve(authenticate: Streams["authenticate"], more: object = {}) {
      const http: Server = createServer();
      const streams = {
        limits: { ...GRAPH_LIMITS, ...LIMITS },
        stallMs: 1_000,
        caps: new ConnectionCaps({ ...GRAPH_LIMITS, ...LIMITS }),
        authenticate,
        take: () => () => {},
        watch: () => () => {},
        report: () => {},
        ...more,
      } as unknown as Streams;
      const sockets = serveWebSockets(http, streams, new Turns());
      await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
      const address = http.address();
      ends.push(() => http.close());
      return { sockets, origin: `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}` };
    }

    test("4500 for an internal error, without its text", async () => {
      const { origin } = await serve(() => Promise.reject(new Error("secret details")));
      const { opened, send, closed } = openRaw(origin);
      await opened;
      send({ type: "connection_init" });
      expect(await closed).toEqual({ code: CloseCode.InternalServerError, reason: "Internal server error" });
    });

    test("none for an internal error in one operation, which is an error of that operation alone", async () => {
      const bug = new Error("secret details");
      const operation = { document: parse(KEYS), schema: buildSchema("type Query { a: Int }") };
      const { origin } = await serve(async () => ({ principal: {}, take: async () => {} }) as never, {
        memoryOf: () => ({ end: () => {} }),
        admit: async ({ query }: { query: string }) => {
          if (query === "admit") throw bug;
          return operation;
        },
        run: () => Promise.reject(bug),
      });
      const { opened, send, got, socket } = openRaw(origin);
      await opened;
      send({ type: "connection_init" });
      await until(() => got.length === 1);
      send(subscribe("1", "admit"));
      send(subscribe("2"));
      await until(() => got.length === 3 || socket.readyState > 1);
      expect(got.slice(1).map(({ type, id }) => [type, id])).toEqual(
        expect.arrayContaining([
          ["error", "1"],
          ["error", "2"],
        ]),
      );
      expect(JSON.stringify(got)).not.toContain("secret details");
      expect(socket.readyState).toBe(WebSocket.OPEN);
    });

    test("1001 when the gateway ends", async () => {
      const { origin, sockets } = await serve(() =>
        Promise.reject(new Error("the client did not authenticate")),
      );
      const { opened, closed } = openRaw(origin);
      await opened;
      await sockets.close();
      expect((await closed).code).toBe(1001);
    });
  });
});

describe("what one transport refuses, all refuse", () => {
  const deep = `subscription { keyChanged { ${"a { ".repeat(10)} b ${" }".repeat(10)} } }`;
  const aliased = `subscription { keyChanged { ${Array.from({ length: 16 }, (_, n) => `a${n}: id`).join(" ")} } }`;
  test.each([
    ["too deep", deep, "graphql_refused"],
    ["too many aliases", aliased, "graphql_refused"],
    ["not valid", "subscription { nothing }", "GRAPHQL_VALIDATION_FAILED"],
    ["not GraphQL", "subscription {", "GRAPHQL_PARSE_FAILED"],
    ["a skipped root", "subscription { blockAdded @skip(if: true) { number } }", "GRAPHQL_VALIDATION_FAILED"],
    [
      "a root that is not included",
      "subscription { ...F } fragment F on Subscription { ... @include(if: false) { blockAdded { number } } }",
      "GRAPHQL_VALIDATION_FAILED",
    ],
    [
      "a root by a variable",
      "subscription ($on: Boolean = true) { blockAdded @include(if: $on) { number } }",
      "GRAPHQL_VALIDATION_FAILED",
    ],
    [
      "a root by a variable that is missing",
      "subscription ($off: Boolean!) { blockAdded @skip(if: $off) { number } }",
      "GRAPHQL_VALIDATION_FAILED",
    ],
    [
      "a field that only subgraphs answer",
      "{ _entities(representations: []) { __typename } }",
      "GRAPHQL_VALIDATION_FAILED",
    ],
  ])("%s", async (_, query, code) => {
    const { secret, change } = await newOwner();
    const over: Record<string, unknown> = {};
    const { errors, status } = await ask(stack().origin, secret, query);
    over.http = [status, errors?.[0]?.extensions?.code];
    const events = await followEvents(stack().origin, secret, query);
    await events.closed;
    // In its protocol a refusal is a result.
    over.events = events.results.map((result) => [200, result.errors?.[0]?.extensions?.code]);
    const parts = await postMultipart(secret, query);
    over.multipart = [parts.status, JSON.parse(await parts.text()).errors[0].extensions.code];
    const { send, got, socket } = await openAcknowledged(secret);
    send(subscribe("other"));
    await until(() => stack().app.events.openStreams === 1);
    send(subscribe("1", query));
    await until(() => got.some(({ type }) => type === "error") || socket.readyState > 1);
    await change();
    await until(() => got.some(({ type, id }) => type === "next" && id === "other") || socket.readyState > 1);
    expect(socket.readyState).toBe(WebSocket.OPEN);
    const refused = got.find(({ type }) => type === "error") as unknown as {
      payload: { extensions: object }[];
    };
    expect(refused.payload[0]?.extensions).toMatchObject({ code });
    expect(over).toEqual({ http: [400, code], events: [[200, code]], multipart: [400, code] });
  });
});

describe("a subscription that is refused when it opens", () => {
  test.each([
    ["its cursor", 'subscription { balanceChanged(after: "zz") { cursor } }', "invalid_cursor"],
    ["its argument", 'subscription { imageJobProgress(id: "nope") { cursor } }', "async_job_not_found"],
    ["a missing scope", KEYS, "insufficient_scope"],
  ])("for %s is an error message of its operation alone", async (_, query, code) => {
    const { account } = await seedAccount(stack().app.database, 1n);
    const { secret } = await stack().app.managementKeys.create(account, newId(), ["account:read"]);
    const { send, got, socket } = await openAcknowledged(secret);
    send(subscribe("1", query));
    await until(() => got.some(({ id }) => id === "1") || socket.readyState > 1);
    send(subscribe("2", "{ __typename }"));
    await until(() => got.some(({ type }) => type === "complete") || socket.readyState > 1);
    expect(got.filter(({ id }) => id === "1")).toEqual([
      {
        ...{ type: "error", id: "1" },
        payload: [expect.objectContaining({ extensions: expect.objectContaining({ code }) })],
      },
    ]);
    expect(got.filter(({ id }) => id === "2")).toEqual([
      { type: "next", id: "2", payload: { data: { __typename: "Query" } } },
      { type: "complete", id: "2" },
    ]);
  });
});

function postMultipart(secret: string | undefined, query: string, signal?: AbortSignal): Promise<Response> {
  return fetch(`${stack().origin}/graphql`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      // As Apollo Client writes it.
      accept: "multipart/mixed;boundary=graphql;subscriptionSpec=1.0,application/json",
      ...(secret && { authorization: `Bearer ${secret}` }),
    },
    body: JSON.stringify({ query }),
    ...(signal && { signal }),
  });
}

/** Reads the parts of a response as they arrive. */
function readParts(response: Response) {
  const parts: unknown[] = [];
  let text = "";
  const read = async () => {
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk as Uint8Array, { stream: true });
      const whole = text.split("\r\n--graphql");
      text = whole.pop() ?? "";
      for (const part of whole) {
        const [, body] = part.split("\r\n\r\n");
        if (body) parts.push(JSON.parse(body));
      }
    }
  };
  return {
    parts,
    done: read().then(
      () => text,
      (error: Error) => error.message,
    ),
  };
}

describe("an equal subscription with a cursor in the default of its variable", () => {
  test("replays what follows the cursor to each of its subscribers", async () => {
    const { secret, change } = await newOwner();
    const first = await followSocket(stack().origin, secret, KEYS);
    ends.push(() => first.stop());
    await until(() => stack().app.events.openStreams === 1);
    for (let n = 0; n < 3; n++) await change();
    await until(() => first.results.length === 3);
    const cursor = first.results[0]?.data?.keyChanged.cursor;
    const query = `subscription ($after: Cursor = "${cursor}") { keyChanged(after: $after) { id } }`;
    const ids = first.results.slice(1).map(({ data }) => data?.keyChanged.id);
    for (let n = 0; n < 2; n++) {
      const resumed = await followSocket(stack().origin, secret, query);
      ends.push(() => resumed.stop());
      await until(() => resumed.results.length === 2);
      expect(resumed.results.map(({ data }) => data?.keyChanged.id)).toEqual(ids);
    }
  });
});

describe("multipart, as Apollo Client requests it,", () => {
  test("begins with a part at once, sends every event in its own part, and sends heartbeats in between", async () => {
    const { secret, change } = await newOwner();
    const leaving = new AbortController();
    ends.push(() => leaving.abort());
    const response = await postMultipart(secret, KEYS, leaving.signal);
    expect([response.status, response.headers.get("content-type")]).toEqual([
      200,
      'multipart/mixed;boundary="graphql";subscriptionSpec=1.0',
    ]);
    const { parts } = readParts(response);
    await until(() => stack().app.events.openStreams === 1);
    await change();
    await change();
    const events = () => parts.filter((part) => JSON.stringify(part) !== "{}");
    await until(() => parts.length > events().length && events().length === 2);
    expect(events()).toMatchObject([
      { payload: { data: { keyChanged: { kind: "API_KEY" } } } },
      { payload: { data: { keyChanged: { kind: "API_KEY" } } } },
    ]);
    leaving.abort();
    await until(() => stack().app.events.openStreams === 0);
  });

  test("sends a refusal as a result and then ends, and answers queries in the common way", async () => {
    const { parts, done } = readParts(await postMultipart(undefined, KEYS));
    expect(await done).toBe("--\r\n");
    expect(parts.at(-1)).toMatchObject({
      payload: { errors: [{ extensions: { code: "missing_authorization" } }] },
    });
    const query = await postMultipart(undefined, "{ __typename }");
    expect(await query.json()).toEqual({ data: { __typename: "Query" } });
  });
});

describe("multipart, with a body that is no operation,", () => {
  test.each([
    ["query", { query: 5, extensions: { persistedQuery: { version: 1, sha256Hash: "a" } } }],
    ["variables", { query: "subscription { blockAdded { number } }", variables: "abc" }],
    ["extensions", { query: "subscription { blockAdded { number } }", extensions: [] }],
    ["operationName", { query: "subscription { blockAdded { number } }", operationName: {} }],
    ["body", []],
  ])("names %s, as server-sent events do", async (param, body) => {
    const leaving = new AbortController();
    ends.push(() => leaving.abort());
    const answers = ["multipart/mixed;subscriptionSpec=1.0", "text/event-stream"].map(async (accept) => {
      const path = accept === "text/event-stream" ? "/graphql/stream" : "/graphql";
      const reply = await fetch(stack().origin + path, {
        ...{ method: "POST", body: JSON.stringify(body), signal: leaving.signal },
        headers: { "content-type": "application/json", accept },
      });
      const { errors } = JSON.parse(await reply.text());
      return [reply.status, errors[0].extensions];
    });
    const expected = [400, expect.objectContaining({ code: "invalid_body", param })];
    expect(await Promise.all(answers)).toEqual([expected, expected]);
  });
});

describe("server-sent events", () => {
  const options = (secret: string) => ({
    url: `${stack().origin}/graphql/stream`,
    headers: { authorization: `Bearer ${secret}` },
    retryAttempts: 0,
  });

  test("on one connection for several operations, as graphql-sse's own client does it", async () => {
    const { secret, change } = await newOwner();
    const client = createSseClient({ ...options(secret), singleConnection: true });
    const results: unknown[][] = [[], []];
    const stops = results.map((list) =>
      client.subscribe(
        { query: KEYS },
        { next: (result) => void list.push(result), error() {}, complete() {} },
      ),
    );
    // An identical subscription with the same permissions is opened once.
    await until(() => stack().app.events.openStreams === 1 && stack().app.credentialWatch.size === 3);
    await change();
    await until(() => results.every((list) => list.length === 1));
    const query = await new Promise((resolve, reject) =>
      client.subscribe({ query: "{ __typename }" }, { next: resolve, error: reject, complete() {} }),
    );
    expect(query).toEqual({ data: { __typename: "Query" } });
    stops[0]?.();
    await until(() => stack().app.credentialWatch.size === 2);
    await change();
    await until(() => results[1]?.length === 2);
    expect(results[0]).toHaveLength(1);
    client.dispose();
    await until(() => stack().app.events.openStreams === 0);
  });

  const reserve = (secret: string) =>
    fetch(`${stack().origin}/graphql/stream`, {
      method: "PUT",
      headers: { authorization: `Bearer ${secret}` },
    });
  const send = (secret: string, token: string, init: RequestInit & { search?: string }) =>
    fetch(`${stack().origin}/graphql/stream${init.search ?? ""}`, {
      ...init,
      headers: {
        authorization: `Bearer ${secret}`,
        "x-graphql-event-stream-token": token,
        "content-type": "application/json",
        ...init.headers,
      },
    });

  test("a reserved stream belongs to its key, is opened once, and accepts an id once", async () => {
    const [one, other] = [await newOwner(), await newOwner()];
    const token = await (await reserve(one.secret)).text();
    const body = JSON.stringify({ query: KEYS, extensions: { operationId: "1" } });
    const leaving = new AbortController();
    ends.push(() => leaving.abort());
    const stream = { headers: { accept: "text/event-stream" }, signal: leaving.signal };
    expect((await send(other.secret, token, stream)).status).toBe(404);
    expect((await send(other.secret, token, { method: "POST", body })).status).toBe(404);
    expect((await send(one.secret, `${token}x`, { method: "POST", body })).status).toBe(404);
    expect((await send(one.secret, token, { method: "POST", body: '{"query":"{ a }"}' })).status).toBe(400);
    expect((await send(one.secret, token, { method: "POST", body })).status).toBe(202);
    expect((await send(one.secret, token, { method: "POST", body })).status).toBe(409);
    expect((await send(one.secret, token, stream)).status).toBe(200);
    expect((await send(one.secret, token, stream)).status).toBe(409);
    expect((await send(one.secret, token, { method: "DELETE" })).status).toBe(400);
    const named = { method: "DELETE", search: "?operationId=1" };
    expect((await send(other.secret, token, named)).status).toBe(404);
    expect((await send(one.secret, token, named)).status).toBe(200);
    await until(() => stack().app.events.openStreams === 0);
    leaving.abort();
    await until(async () => (await send(one.secret, token, { method: "POST", body })).status === 404);
  });

  test("one reserved or open stream too many of a key is refused with 429", async () => {
    const { account, secret, keyId } = await newOwner();
    const statuses = [];
    for (let n = 0; n <= LIMITS.socketsPerKey; n++) statuses.push((await reserve(secret)).status);
    expect(statuses).toEqual([201, 201, 201, 429]);
    const open = await Promise.all([1, 2, 3, 4].map(() => followEvents(stack().origin, secret, KEYS)));
    await expect(followEvents(stack().origin, secret, KEYS)).rejects.toThrow(/^429 .*rate_limit_exceeded/);
    await Promise.all(open.map(({ stop }) => stop()));
    // Reservations end with their key.
    await stack().app.managementKeys.revoke(account, keyId);
  });

  test("a GET is answered for queries and subscriptions, and changes nothing", async () => {
    const get = (query: string, accept = "text/event-stream") =>
      fetch(`${stack().origin}/graphql/stream?query=${encodeURIComponent(query)}`, { headers: { accept } });
    const answer = await get("{ __typename }");
    expect(await answer.text()).toBe(
      ':\n\nevent: next\ndata: {"data":{"__typename":"Query"}}\n\nevent: complete\ndata:\n\n',
    );
    expect((await get("mutation { createSignInNonce { nonce } }")).status).toBe(405);
    expect((await get("{ __typename }", "application/json")).status).toBe(404);
  });

  describe("at /graphql", () => {
    const STREAMS = "text/event-stream, multipart/mixed";
    const ALL = `application/graphql-response+json, application/json, ${STREAMS}`;
    const post = async (query: unknown, accept: string) => {
      const reply = await fetch(`${stack().origin}/graphql`, {
        method: "POST",
        headers: { "content-type": "application/json", accept },
        body: JSON.stringify({ query }),
        signal: AbortSignal.timeout(30_000),
      });
      const type = reply.headers.get("content-type")?.split(";")[0];
      return { status: reply.status, type, reply };
    };

    test.each([STREAMS, ALL, "Text/Event-Stream; q=0.9"])(
      "carry a subscription for a client that accepts %s",
      async (accept) => {
        const { status, type, reply } = await post("subscription { blockAdded { number } }", accept);
        expect([status, type]).toEqual([200, "text/event-stream"]);
        const reader = reply.body?.getReader();
        expect(Buffer.from((await reader?.read())?.value ?? "").toString()).toContain(":\n\n");
        await reader?.cancel();
      },
    );

    test.each<[string, unknown, number]>([
      ["a query", "{ __typename }", 200],
      ["a query that is refused", "{ nothing }", 400],
      ["a subscription that is refused", "subscription { nothing }", 400],
      ["no query", 7, 400],
    ])("do not carry %s for a client that accepts JSON as well", async (_what, query, expected) => {
      const { status, type } = await post(query, ALL);
      expect([status, type]).toEqual([expected, "application/graphql-response+json"]);
    });

    test("do not carry a subscription for a client that excludes them", async () => {
      const { status, type } = await post(
        "subscription { blockAdded { number } }",
        "text/event-stream;q=0, application/json",
      );
      expect([status, type]).toEqual([400, "application/json"]);
    });

    test("carry every operation of graphql-sse's client, which accepts nothing else", async () => {
      const { secret } = await newOwner();
      const client = createSseClient({ ...options(secret), url: `${stack().origin}/graphql` });
      onTestFinished(() => client.dispose());
      const resultOf = (query: string) =>
        new Promise((resolve, reject) =>
          client.subscribe({ query }, { next: resolve, error: reject, complete() {} }),
        );
      expect(await resultOf("{ __typename }")).toEqual({ data: { __typename: "Query" } });
      expect(await resultOf("mutation { createSignInNonce { nonce } }")).toMatchObject({
        data: { createSignInNonce: { nonce: expect.any(String) } },
      });
      const { status, type } = await post("{ __typename }", "text/event-stream;q=0, text/html");
      expect([status, type]).toEqual([406, "application/json"]);
    });

    test("carry a refusal as a result for a client that accepts only events", async () => {
      const { status, type, reply } = await post("subscription { nothing }", STREAMS);
      expect([status, type]).toEqual([200, "text/event-stream"]);
      const text = await reply.text();
      expect(text).toContain("GRAPHQL_VALIDATION_FAILED");
      expect(text).toContain("event: complete");
    });
  });
});

describe("identical subscriptions", () => {
  test("with the same credential share one source, over every transport, until the last one ends", async () => {
    const { secret, change } = await newOwner();
    const socket = await followSocket(stack().origin, secret, KEYS);
    const events = await followEvents(stack().origin, secret, KEYS);
    await until(() => stack().app.events.openStreams === 1 && stack().app.credentialWatch.size === 3);
    await change();
    await until(() => socket.results.length === 1 && events.results.length === 1);
    expect(socket.results).toEqual(events.results);
    await socket.stop();
    await until(() => stack().app.credentialWatch.size === 1);
    await change();
    await until(() => events.results.length === 2);
    expect(stack().app.events.openStreams).toBe(1);
    await events.stop();
  });

  test("do not share with another credential, other variables, or another cursor", async () => {
    const [one, other] = [await newOwner(), await newOwner()];
    const cursor = (await ask(stack().origin, undefined, "{ eventCursor }")).data.eventCursor;
    const resumed = `subscription { keyChanged(after: "${cursor}") { id } }`;
    const open = await Promise.all([
      followEvents(stack().origin, one.secret, KEYS),
      followEvents(stack().origin, other.secret, KEYS),
      followEvents(stack().origin, one.secret, resumed),
      followEvents(stack().origin, one.secret, resumed),
    ]);
    await until(() => stack().app.events.openStreams === 4);
    await one.change();
    await until(() => [0, 2, 3].every((n) => open[n]?.results.length === 1));
    expect(open[1]?.results).toEqual([]);
    await Promise.all(open.map(({ stop }) => stop()));
  });

  test("with a cursor taken before the initial query, no event in between is missed", async () => {
    const { secret, change } = await newOwner();
    const { data } = await ask(stack().origin, secret, "{ eventCursor }");
    await change();
    const following = await followEvents(
      stack().origin,
      secret,
      `subscription { keyChanged(after: "${data.eventCursor}") { change } }`,
    );
    await until(() => following.results.length === 1);
    await following.stop();
  });
});

test.each([
  ["reads nothing", false],
  ["leaves the end unread", true],
])("a client that %s is disconnected by a reset, and its queue stays bounded", async (_, isEnded) => {
  let written = 0;
  let gone = 0;
  const server = createServer(async (_request, response) => {
    const options = {
      stallMs: 300,
      heartbeat: ":\n\n",
      heartbeatMs: 50,
      among: new Set<StreamingResponse>(),
    };
    const outlet = new StreamingResponse(response, {}, options, () => {
      gone += 1;
    });
    const chunk = "x".repeat(65_536);
    if (isEnded) outlet.end("x".repeat(16 * 1_048_576));
    else while (await outlet.write(chunk)) written += chunk.length;
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  ends.push(() => server.close());
  const address = server.address();
  const socket = connect(typeof address === "object" ? (address?.port ?? 0) : 0, "127.0.0.1");
  ends.push(() => socket.destroy());
  const failed = once(socket, "error");
  socket.write("GET / HTTP/1.1\r\nhost: a\r\n\r\n");
  socket.pause();
  await until(() => gone === 1);
  socket.resume();
  expect(await failed).toMatchObject([{ code: "ECONNRESET" }]);
  expect(written > 0).toBe(!isEnded);
  expect(written).toBeLessThan(32 * 1_048_576);
});
