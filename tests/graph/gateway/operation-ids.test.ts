// @module-tag medium
import { CloseCode } from "graphql-ws";
import { expect, onTestFinished, test, vi } from "vitest";
import { WebSocket } from "ws";
import { newId } from "../../../src/kernel/text/ids.ts";
import { untilPublished } from "../../support/events.ts";
import { seedAccount } from "../../support/seed.ts";
import { useStack } from "../../support/stack.ts";
import { until } from "../../support/until.ts";

const stack = useStack();

type Message = {
  readonly type: string;
  readonly id?: string;
  readonly payload?: { readonly data?: Readonly<Record<string, unknown>> };
};

const KEYS = "subscription { keyChanged { change } }";
const CURSOR = "{ eventCursor }";
const KIND = "{ viewer { kind } }";

/** An acknowledged socket of a new account's key, which is written to directly. */
async function openSocket() {
  const { app, origin } = stack();
  const { account } = await seedAccount(app.database, 1n);
  const { secret } = await app.managementKeys.create(account, newId(), ["keys:read"]);
  await untilPublished(app.database);
  const socket = new WebSocket(`${origin.replace("http", "ws")}/graphql`, "graphql-transport-ws");
  onTestFinished(() => socket.terminate());
  const received: Message[] = [];
  const closed = new Promise<{ code: number; reason: string }>((resolve) =>
    socket.once("close", (code, reason) => resolve({ code, reason: String(reason) })),
  );
  socket.on("message", (data) => received.push(JSON.parse(String(data))));
  await new Promise((resolve) => socket.once("open", resolve));
  const send = (message: object) => socket.send(JSON.stringify(message));
  const subscribe = (id: string, query: string) => send({ type: "subscribe", id, payload: { query } });
  const complete = (id: string) => send({ type: "complete", id });
  send({ type: "connection_init", payload: { authorization: `Bearer ${secret}` } });
  await until(() => received.some(({ type }) => type === "connection_ack"));
  return { account, received, closed, subscribe, complete };
}

/** Keeps the position of the event streams, which `eventCursor` and every source read, until the returned call. */
function holdPosition() {
  const { events } = stack().app;
  const { promise: free, resolve: release } = Promise.withResolvers<void>();
  const now = events.now.bind(events);
  const held = vi.spyOn(events, "now").mockImplementationOnce(async () => {
    await free;
    return now();
  });
  onTestFinished(() => held.mockRestore());
  return { isHeld: () => held.mock.calls.length > 0, release };
}

/** Holds the opening of the next stream of events. */
function holdOpening() {
  const { events } = stack().app;
  const { promise: free, resolve: release } = Promise.withResolvers<void>();
  const follow = events.follow.bind(events) as (...args: unknown[]) => Promise<unknown>;
  const held = vi.spyOn(events, "follow").mockImplementationOnce((async (...args: unknown[]) => {
    await free;
    return follow(...args);
  }) as never);
  onTestFinished(() => held.mockRestore());
  return { isHeld: () => held.mock.calls.length > 0, release };
}

const dataOf = (received: readonly Message[], id: string) =>
  received.filter((message) => message.id === id).map(({ type, payload }) => payload?.data ?? type);

test("an id that is used again while its subscription opens receives the second one's results alone", async () => {
  const { account, received, subscribe, complete } = await openSocket();
  const { app } = stack();
  const { isHeld, release } = holdOpening();
  subscribe("1", KEYS);
  await until(isHeld);
  complete("1");
  subscribe("1", "subscription { keyChanged { kind } }");
  await until(() => app.events.openStreams === 1);
  release();
  // The first one opens, is closed, and emits nothing under the id.
  subscribe("later", CURSOR);
  await until(() => dataOf(received, "later").includes("complete"));
  await until(() => app.events.openStreams === 1);
  await app.apiKeys.create(account, newId());
  await until(() => dataOf(received, "1").length > 0);
  subscribe("last", CURSOR);
  await until(() => dataOf(received, "last").includes("complete"));
  expect(dataOf(received, "1")).toEqual([{ keyChanged: { kind: "API_KEY" } }]);
  complete("1");
  await until(() => app.events.openStreams === 0);
});

test("an id that is used again while its query runs receives the second one's result alone", async () => {
  const { received, subscribe, complete } = await openSocket();
  const { isHeld, release } = holdPosition();
  subscribe("1", CURSOR);
  await until(isHeld);
  complete("1");
  subscribe("1", KEYS);
  await until(() => stack().app.events.openStreams === 1);
  release();
  subscribe("later", CURSOR);
  await until(() => dataOf(received, "later").includes("complete"));
  expect(dataOf(received, "1")).toEqual([]);
  complete("1");
  await until(() => stack().app.events.openStreams === 0);
});

test("an operation that its client completes calls no further subgraph", async () => {
  const { received, subscribe, complete } = await openSocket();
  const { isHeld, release } = holdPosition();
  const created = vi.spyOn(stack().app.sessions, "createNonce");
  onTestFinished(() => created.mockRestore());
  // The second field of the mutation would run after the first.
  const { promise: free, resolve } = Promise.withResolvers<void>();
  created.mockImplementationOnce(async () => {
    await free;
    return { nonce: "n".repeat(16), expiresAt: new Date() } as never;
  });
  subscribe("1", "mutation { a: createSignInNonce { nonce } b: createSignInNonce { nonce } }");
  await until(() => created.mock.calls.length === 1);
  complete("1");
  subscribe("2", CURSOR);
  await until(isHeld);
  release();
  await until(() => dataOf(received, "2").includes("complete"));
  resolve();
  subscribe("1", KIND);
  await until(() => dataOf(received, "1").includes("complete"));
  expect(dataOf(received, "1")).toEqual([{ viewer: { kind: "MANAGEMENT_KEY" } }, "complete"]);
  expect(created).toHaveBeenCalledTimes(1);
});

test("an id of any length that is in use closes the socket with 4409", async () => {
  const { subscribe, closed } = await openSocket();
  const logged = vi.spyOn(stack().app.log, "error");
  onTestFinished(() => logged.mockRestore());
  const id = "é".repeat(200);
  subscribe(id, KEYS);
  subscribe(id, KEYS);
  const { code, reason } = await closed;
  expect([code, reason]).toEqual([
    CloseCode.SubscriberAlreadyExists,
    expect.stringMatching(/^Subscriber for é+$/),
  ]);
  expect(logged).not.toHaveBeenCalled();
});

test.each(["__proto__", 'a "quoted" id', "\u2028", "7"])("an id may be %j", async (id) => {
  const { received, subscribe } = await openSocket();
  subscribe(id, KIND);
  await until(() => received.some((message) => message.type === "complete"));
  expect(dataOf(received, id)).toEqual([{ viewer: { kind: "MANAGEMENT_KEY" } }, "complete"]);
});
