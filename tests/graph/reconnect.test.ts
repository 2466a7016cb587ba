// @module-tag large
import { createClient } from "graphql-ws";
import { afterEach, expect, test } from "vitest";
import { WebSocket } from "ws";
import { GRAPH_LIMITS } from "../../src/graph-limits.ts";
import { newId } from "../../src/kernel/text/ids.ts";
import { untilPublished } from "../support/events.ts";
import { seedAccount } from "../support/seed.ts";
import { useStack } from "../support/stack.ts";
import { until } from "../support/until.ts";

const stack = useStack();
const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const COUNT = GRAPH_LIMITS.subscriptionsPerSocket;

async function newOwner() {
  const { account } = await seedAccount(stack().app.database, 1n);
  const { secret } = await stack().app.managementKeys.create(account, newId(), ["keys:read"]);
  await untilPublished(stack().app.database);
  return { secret, change: async () => void (await stack().app.apiKeys.create(account, newId())) };
}

test("a client with as many subscriptions as a socket carries gets every one of them back after its socket was cut", async () => {
  const { secret, change } = await newOwner();
  const sockets: WebSocket[] = [];
  const closes: unknown[] = [];
  const client = createClient({
    url: `${stack().origin.replace("http", "ws")}/graphql`,
    webSocketImpl: WebSocket,
    connectionParams: { authorization: `Bearer ${secret}` },
    retryAttempts: 5,
    retryWait: () => Promise.resolve(),
    on: {
      opened: (socket) => void sockets.push(socket as WebSocket),
      closed: (event) => void closes.push(event),
    },
  });
  ends.push(() => client.dispose());
  const got = Array.from({ length: COUNT }, () => 0);
  const failures: unknown[] = [];
  for (const at of got.keys())
    client.subscribe(
      // Each has its own text, and so its own source.
      { query: `subscription S${at} { keyChanged { id } }` },
      {
        next() {
          got[at] = (got[at] ?? 0) + 1;
        },
        error: (reason) => void failures.push(reason),
        complete() {},
      },
    );
  const { app } = stack();
  await until(() => app.events.openStreams === COUNT);
  for (let round = 1; round <= 3; round++) {
    await change();
    await until(() => got.every((count) => count === round));
    sockets.at(-1)?.terminate();
    await until(() => sockets.length === round + 1);
    await until(() => app.credentialWatch.size === COUNT + 1 && app.events.openStreams === COUNT);
  }
  expect(failures).toEqual([]);
  expect(closes).toHaveLength(3);
});

test("messages beyond the rate are handled in their order, later", async () => {
  const socket = new WebSocket(`${stack().origin.replace("http", "ws")}/graphql`, "graphql-transport-ws");
  ends.push(() => socket.terminate());
  const pongs: number[] = [];
  socket.on("message", (data) => {
    const { type, payload } = JSON.parse(String(data));
    if (type === "pong") pongs.push(payload.n);
  });
  await new Promise((resolve) => socket.once("open", resolve));
  const count = 2 * COUNT + GRAPH_LIMITS.messagesPerSecond + 50;
  for (let n = 0; n < count; n++) socket.send(JSON.stringify({ type: "ping", payload: { n } }));
  socket.send(JSON.stringify({ type: "connection_init" }));
  await until(() => pongs.length === count);
  expect(pongs).toEqual(Array.from({ length: count }, (_, n) => n));
  expect(socket.readyState).toBe(WebSocket.OPEN);
});

test.each([
  ["small", ""],
  ["larger", "x".repeat(2_000)],
])("a flood of ten thousand %s messages is closed with 4429", async (_, filler) => {
  const socket = new WebSocket(`${stack().origin.replace("http", "ws")}/graphql`, "graphql-transport-ws");
  ends.push(() => socket.terminate());
  const closed = new Promise<number>((resolve) => socket.once("close", resolve));
  await new Promise((resolve) => socket.once("open", resolve));
  // Initialised, or a slow machine closes it first because it is not.
  socket.send(JSON.stringify({ type: "connection_init" }));
  for (let n = 0; n < 10_000; n++) socket.send(JSON.stringify({ type: "ping", payload: { filler } }));
  expect(await closed).toBe(4429);
});

test("a message that is nested too deeply closes the socket with 4400", async () => {
  const socket = new WebSocket(`${stack().origin.replace("http", "ws")}/graphql`, "graphql-transport-ws");
  ends.push(() => socket.terminate());
  const closed = new Promise<number>((resolve) => socket.once("close", resolve));
  await new Promise((resolve) => socket.once("open", resolve));
  socket.send(`{"type":"ping","payload":{"a":${"[".repeat(30_000)}${"]".repeat(30_000)}}}`);
  expect(await closed).toBe(4400);
});
