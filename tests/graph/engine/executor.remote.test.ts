import { createServer, type Server, type ServerResponse } from "node:http";
import { connect, createServer as createTcpServer, type Socket } from "node:net";
import { buildSchema, parse } from "graphql";
import { afterEach, expect, test } from "vitest";
import { WebSocketServer } from "ws";
import type { SubgraphRequest } from "../../../gateway/federation/engine/subgraph-executor.ts";
import { createRemoteExecutor } from "../../../gateway/federation/executor.remote.ts";
import { scaled } from "../../support/machine.ts";
import { until } from "../../support/until.ts";
import { remoteExecutor, serveSubgraph, type TestContext } from "./support/federation.ts";
import { Source } from "./support/sources.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

function request(text: string, signal?: AbortSignal): SubgraphRequest<TestContext> {
  const document = parse(text);
  return { text, document, variables: {}, context: { user: "ann" }, scope: {}, signal };
}

async function listen(server: Server | ReturnType<typeof createTcpServer>): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanups.push(() => server.close());
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("no address");
  return `http://127.0.0.1:${address.port}`;
}

type Answer = { status?: number; text: string; delayMs?: number };

async function respondWith(answer: (body: string) => Answer, timeoutMs?: number) {
  const seen: Record<string, unknown>[] = [];
  const server = createServer(async (incoming, outgoing) => {
    let body = "";
    for await (const chunk of incoming) body += chunk;
    seen.push({ headers: incoming.headers, body: JSON.parse(body) });
    const { status = 200, text, delayMs = 0 } = answer(body);
    setTimeout(() => outgoing.writeHead(status).end(text), delayMs).unref();
  });
  const executor = remoteExecutor(`${await listen(server)}/graphql?a=b`, { timeoutMs });
  cleanups.push(() => executor.close());
  cleanups.push(() => server.closeAllConnections());
  return { executor, seen };
}

test("the principal's headers are sent with every request", async () => {
  const { executor, seen } = await respondWith(() => ({ text: `{"data":{"x":1}}` }));
  expect(await executor.execute(request("{ x }"))).toEqual({ data: { x: 1 } });
  expect(seen).toMatchObject([
    {
      headers: { "x-user": "ann", "content-type": "application/json" },
      body: { query: "{ x }", variables: {} },
    },
  ]);
});

test.each([
  ["not JSON", "<html>", 502],
  ["not GraphQL", `{"statusCode":401,"message":"who are you"}`, 401],
  ["neither data nor errors", `{"data":null}`, 200],
  ["data with errors that are no list", `{"data":{"x":null},"errors":{"message":"m"}}`, 200],
  ["data with errors that have no message", `{"data":{"x":null},"errors":[null,{"path":["x"]}]}`, 200],
])("an answer that is %s is refused", async (_, text, status) => {
  const { executor } = await respondWith(() => ({ status, text }));
  await expect(executor.execute(request("{ x }"))).rejects.toThrow(String(status));
});

test("GraphQL errors are read whatever the status", async () => {
  const { executor } = await respondWith(() => ({ status: 400, text: `{"errors":[{"message":"m"},{}]}` }));
  expect(await executor.execute(request("{ x }"))).toEqual({ data: null, errors: [{ message: "m" }] });
});

test("a subgraph that answers too late or too much is given up", async () => {
  const slow = await respondWith(() => ({ text: "{}", delayMs: 60_000 }), 1_000);
  const started = performance.now();
  await expect(slow.executor.execute(request("{ x }"))).rejects.toThrow("no response within 1000 ms");
  expect(performance.now() - started).toBeLessThan(scaled(2_000));

  const long = JSON.stringify({ data: { x: "a".repeat(9 * 1024 * 1024) } });
  const wordy = await respondWith(() => ({ text: long }));
  await expect(wordy.executor.execute(request("{ x }"))).rejects.toThrow("larger than 8388608 bytes");
});

/** Long enough for a busy machine to answer `/healthz` in half of it. */
const SILENT_MS = 1_000;

/** A subgraph that answers operations only when they are released, with `/healthz` beside them. */
async function startSlow(given: {
  readonly queryTimeoutMs?: number;
  readonly mutationTimeoutMs?: number;
  readonly keepsMutations?: boolean;
}) {
  const waiting: ServerResponse[] = [];
  const slow = { isHung: false, asked: 0, waiting };
  const server = createServer((incoming, outgoing) => {
    if (incoming.url !== "/healthz") return void waiting.push(outgoing);
    slow.asked += 1;
    if (!slow.isHung) outgoing.end("{}");
  });
  const executor = createRemoteExecutor<TestContext>({
    ...{ url: `${await listen(server)}/graphql`, headers: () => ({}), connectionParams: () => ({}) },
    ...{ timeoutMs: SILENT_MS, ...given },
  });
  cleanups.push(() => executor.close());
  cleanups.push(() => server.closeAllConnections());
  return { executor, slow };
}

test("a query waits for a subgraph that is slow and alive, up to its own deadline", async () => {
  const { executor, slow } = await startSlow({ queryTimeoutMs: 60_000 });
  const answers = Promise.all([executor.execute(request("{ x }")), executor.execute(request("{ y }"))]);
  // Longer than it may be silent.
  await until(() => slow.asked >= 4);
  for (const response of slow.waiting) response.end(`{"data":{"x":1}}`);
  expect(await answers).toEqual([{ data: { x: 1 } }, { data: { x: 1 } }]);

  const late = await startSlow({ queryTimeoutMs: 500 });
  await expect(late.executor.execute(request("{ x }"))).rejects.toThrow("no response within 500 ms");
});

test("a query is given up when its subgraph is silent, also after it was alive", async () => {
  const { executor, slow } = await startSlow({ queryTimeoutMs: 60_000 });
  slow.isHung = true;
  await expect(executor.execute(request("{ x }"))).rejects.toThrow(`silent for ${SILENT_MS} ms`);
  slow.isHung = false;
  const asked = slow.asked;
  const running = expect(executor.execute(request("{ x }"))).rejects.toThrow(`silent for ${SILENT_MS} ms`);
  await until(() => slow.asked >= asked + 3);
  slow.isHung = true;
  await running;
});

test("a mutation is given up like a query, unless it is billed when it ends", async () => {
  const limits = { queryTimeoutMs: 60_000, mutationTimeoutMs: 60_000 };
  const { executor, slow } = await startSlow(limits);
  const billing = await startSlow({ ...limits, keepsMutations: true });
  slow.isHung = billing.slow.isHung = true;
  const billed = billing.executor.execute(request("mutation { x }"));
  await Promise.all([
    expect(executor.execute(request("mutation { x }"))).rejects.toThrow(`silent for ${SILENT_MS} ms`),
    expect(billing.executor.execute(request("{ x }"))).rejects.toThrow(`silent for ${SILENT_MS} ms`),
  ]);
  for (const response of billing.slow.waiting) response.end(`{"data":{"x":1}}`);
  expect(await billed).toEqual({ data: { x: 1 } });

  slow.isHung = false;
  const slowly = executor.execute(request("mutation { x }"));
  const asked = slow.asked;
  await until(() => slow.asked >= asked + 4);
  for (const response of slow.waiting) response.end(`{"data":{"x":1}}`);
  expect(await slowly).toEqual({ data: { x: 1 } });
});

test("the signal ends a request at once, also one that waits for a connection", async () => {
  const { executor } = await respondWith(() => ({ text: "{}", delayMs: 3_000 }));
  const abort = new AbortController();
  const running = executor.execute(request("{ x }", abort.signal));
  setTimeout(() => abort.abort(new Error("the client left")), 20);
  await expect(running).rejects.toThrow("the client left");
  const late = executor.execute(request("{ x }", AbortSignal.abort(new Error("left before"))));
  await expect(late).rejects.toThrow("left before");
});

test("connections are reused", async () => {
  let connections = 0;
  const server = createServer((incoming, outgoing) => {
    incoming.resume().on("end", () => outgoing.end(`{"data":{}}`));
  });
  server.on("connection", () => {
    connections += 1;
  });
  const executor = remoteExecutor(await listen(server));
  cleanups.push(() => executor.close());
  for (let index = 0; index < 5; index++) await executor.execute(request("{ x }"));
  expect(connections).toBeLessThanOrEqual(2);
});

async function serveTicks(): Promise<{ ticks: Source<number>; url: string }> {
  const ticks = new Source<number>();
  const schema = buildSchema("type Query { x: Int } type Subscription { tick: Int }");
  const field = schema.getSubscriptionType()?.getFields().tick;
  if (!field) throw new Error("no field");
  field.subscribe = () => ticks.subscribe();
  field.resolve = (value) => value;
  const server = await serveSubgraph(schema);
  cleanups.push(() => server.close());
  return { ticks, url: server.listeningOrigin };
}

async function subscribe(url: string, pongTimeoutMs?: number) {
  const executor = remoteExecutor(`${url}/graphql`, { pongTimeoutMs });
  cleanups.push(() => executor.close());
  const stream = await executor.subscribe(request("subscription { tick }"));
  if (!("next" in stream)) throw new Error("no stream");
  cleanups.push(() => stream.return?.());
  return stream;
}

test("a peer that disappears silently is noticed within seconds", async () => {
  const { ticks, url } = await serveTicks();
  const { port } = new URL(url);
  let frozen = false;
  const sockets: Socket[] = [];
  const proxy = createTcpServer((near) => {
    const far = connect(Number(port), "127.0.0.1");
    sockets.push(near, far);
    for (const socket of [near, far]) socket.on("error", () => {});
    near.on("data", (chunk) => !frozen && far.write(chunk));
    far.on("data", (chunk) => !frozen && near.write(chunk));
  });
  const stream = await subscribe(await listen(proxy), 1_000);
  await until(() => ticks.open === 1);
  ticks.push(1);
  expect((await stream.next()).value).toEqual({ data: { tick: 1 } });
  // Pings and pongs keep it open for longer than both deadlines.
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  ticks.push(2);
  expect((await stream.next()).value).toEqual({ data: { tick: 2 } });

  frozen = true;
  const started = performance.now();
  await expect(stream.next()).rejects.toThrow("the socket was closed (1006");
  expect(performance.now() - started).toBeLessThan(scaled(3_000));
  for (const socket of sockets) socket.destroy();
});

test("a server that closes cleanly is a lost source too, and is not reconnected", async () => {
  const server = new WebSocketServer({
    port: 0,
    host: "127.0.0.1",
    handleProtocols: () => "graphql-transport-ws",
  });
  await new Promise((resolve) => server.once("listening", resolve));
  cleanups.push(() => server.close());
  let dialled = 0;
  server.on("connection", (socket) => {
    dialled += 1;
    socket.on("message", (message) => {
      const { type } = JSON.parse(String(message));
      if (type === "connection_init") socket.send(`{"type":"connection_ack"}`);
      else socket.close(1000, "bye");
    });
  });
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("no address");
  const stream = await subscribe(`http://127.0.0.1:${address.port}`);
  await expect(stream.next()).rejects.toThrow("the socket was closed (1000 bye)");
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(dialled).toBe(1);
});

test("return() before the socket is open leaves no subscription open", async () => {
  const { ticks, url } = await serveTicks();
  const stream = await subscribe(url);
  const waiting = stream.next();
  await stream.return?.();
  expect((await waiting).done).toBe(true);
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(ticks.open).toBe(0);
});

test("a subgraph that never acknowledges is given up", async () => {
  const silent = createTcpServer(() => {});
  const executor = createRemoteExecutor<TestContext>({
    url: await listen(silent),
    headers: () => ({}),
    connectionParams: () => ({}),
    timeoutMs: 100,
  });
  cleanups.push(() => executor.close());
  const stream = await executor.subscribe(request("subscription { tick }"));
  await expect("next" in stream ? stream.next() : undefined).rejects.toThrow("handshake has timed out");
});
