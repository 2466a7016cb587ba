// @module-tag medium
import { afterEach, expect, test } from "vitest";
import { newId } from "../../src/kernel/text/ids.ts";
import { openHeartbeats } from "../support/attack/heartbeats.ts";
import { MODEL } from "../support/chain/network.ts";
import { STREAMING_CLIENTS } from "../support/clients/streaming-clients.ts";
import { untilPublished } from "../support/events.ts";
import {
  type ClientGroup,
  causeEvents,
  MAX_LAG_MS,
  openClientGroup,
  untilAllReceive,
} from "../support/follow-together.ts";
import { codesOf } from "../support/followed.ts";
import { scaled } from "../support/machine.ts";
import { seedAccount } from "../support/seed.ts";
import { startPausableProxy } from "../support/servers/pausable-proxy.ts";
import { useStack } from "../support/stack.ts";
import { until } from "../support/until.ts";

const stack = useStack({ GRAPH_LIMITS: "heartbeatMs=1500" });
const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const KEYS = "subscription Keys($after: Cursor) { keyChanged(after: $after) { id cursor keyId change } }";
type KeyData = { readonly keyChanged: { readonly keyId: string; readonly cursor: string } };
const idOf = (data: unknown) => (data as KeyData).keyChanged.keyId;
const cursorOf = (data: unknown) => (data as KeyData).keyChanged.cursor;

const NAMES = Object.keys(STREAMING_CLIENTS);
/** Clients that leave resubscribing to the application. */
const ONCE: readonly string[] = [
  "urql over server-sent events",
  "urql over server-sent events at /graphql/stream",
  "Apollo Client over multipart",
];

/** The same for each of the clients. */
const each = <T>(names: readonly string[], value: T) =>
  Object.fromEntries(names.map((name) => [name, value]));
const SOCKETS = NAMES.filter((name) => /graphql-ws|socket/.test(name));

async function newOwner() {
  const { app, origin } = stack();
  const { account } = await seedAccount(app.database, 1n);
  const { key, secret } = await app.managementKeys.create(account, newId(), ["keys:read"]);
  await untilPublished(app.database);
  const change = async () => (await app.apiKeys.create(account, newId())).key.id;
  return { origin, secret, change, revoke: () => app.managementKeys.revoke(account, key.id) };
}

function open(followed: Parameters<typeof openClientGroup>[1], clients = STREAMING_CLIENTS): ClientGroup {
  const audience = openClientGroup(clients, followed);
  ends.push(() => audience.stop());
  return audience;
}

/** The received events of these ids, by client. */
function seenOf(received: ClientGroup["received"], among: readonly string[]) {
  return Object.fromEntries(received.map(({ name, ids }) => [name, ids.filter((id) => among.includes(id))]));
}

test(`every client receives the same events in the same order, within ${MAX_LAG_MS} ms of the others, also after a pause with only heartbeats`, async () => {
  const { origin, secret, change } = await newOwner();
  const audience = open({ origin, secret, query: KEYS, idOf });
  await untilAllReceive(audience, change);
  const first = await causeEvents(audience, change);
  const heartbeats = openHeartbeats({ origin, secret, query: KEYS });
  ends.push(heartbeats.stop);
  await heartbeats.next(2);
  const second = await causeEvents(audience, change);
  const ids = [...first.ids, ...second.ids];
  expect(seenOf(audience.received, ids)).toEqual(each(NAMES, ids));
  const lagsMs = [...first.lagsMs, ...second.lagsMs];
  expect(Math.max(...lagsMs), JSON.stringify(lagsMs)).toBeLessThanOrEqual(scaled(MAX_LAG_MS));
  expect(audience.received.flatMap(({ failures }) => failures)).toEqual([]);
});

test("every client receives the pieces of an answer in their order, and its end", async () => {
  const { app, origin } = stack();
  const { secret } = await seedAccount(app.database, 1_000_000n);
  stack().provider.behaviour = { chunkDelayMs: 20 };
  const messages = [{ role: "user", content: "Say something." }];
  const audience = open({
    origin,
    secret,
    query: `subscription Chat($input: ChatInput!) { completeChat(input: $input) {
      delta { text } bill { requestId } } }`,
    variables: { input: { model: MODEL, maxTokens: 6, messages } },
    idOf: (data) => {
      const { delta, bill } = (data as ChatData).completeChat;
      return bill ? "the bill" : (delta?.text ?? "");
    },
  });
  await until(() => audience.received.every(({ isComplete }) => isComplete));
  const [first] = audience.received;
  expect(first?.ids.join("")).toMatch(/^(\S+ ){5}\S+the bill$/);
  expect(audience.received).toMatchObject(NAMES.map((name) => ({ name, ids: first?.ids, failures: [] })));
});
type ChatData = {
  readonly completeChat: {
    readonly delta: { readonly text: string | null } | null;
    readonly bill: object | null;
  };
};

/** The error codes by client, once each client has one. */
function failuresOf({ received }: ClientGroup) {
  return until(
    () =>
      received.every(({ failures }) => failures.length > 0) &&
      Object.fromEntries(
        received.map(({ name, failures }) => [name, [...new Set(failures.flatMap(codesOf))]]),
      ),
  );
}

test.each([
  ["has an unknown field", "subscription { nothing }", "GRAPHQL_VALIDATION_FAILED"],
  [
    "lacks a variable",
    "subscription Keys($after: Cursor!) { keyChanged(after: $after) { keyId } }",
    "invalid_parameter",
  ],
])("every client receives the code when an operation %s", async (_, query, code) => {
  const { origin, secret } = await newOwner();
  const audience = open({ origin, secret, query, idOf, reconnects: 1 });
  // The protocol of graphql-sse has a status for refusals on a shared connection, and its client hides the
  // body.
  expect(await failuresOf(audience)).toEqual({
    ...each(NAMES, [code]),
    "graphql-sse, one connection": ["400"],
  });
});

test.each([
  ["the scope is missing", "subscription { balanceChanged { id } }", "insufficient_scope"],
  ["a cursor is malformed", 'subscription { keyChanged(after: "x") { keyId } }', "invalid_cursor"],
])("every client receives the code when %s", async (_, query, code) => {
  const { origin, secret } = await newOwner();
  expect(await failuresOf(open({ origin, secret, query, idOf }))).toEqual(each(NAMES, [code]));
});

test("every client reports a key that is revoked while it subscribes, and a wrong one", async () => {
  const { origin, secret, change, revoke } = await newOwner();
  const audience = open({ origin, secret, query: KEYS, idOf });
  await untilAllReceive(audience, change);
  await revoke();
  expect(await failuresOf(audience)).toEqual({
    ...each(NAMES, ["api_key_revoked"]),
    ...each(SOCKETS, ["4403"]),
  });
  const wrong = open({ origin, secret: "sk-wrong", query: KEYS, idOf, reconnects: 1 });
  expect(await failuresOf(wrong)).toEqual({
    ...each(NAMES, ["invalid_api_key"]),
    ...each(SOCKETS, ["4403"]),
    // graphql-sse's client hides the body.
    "graphql-sse, a connection for each operation": ["401"],
    "graphql-sse, one connection": ["401"],
    "Relay over server-sent events": ["401"],
  });
});

test("clients that reconnect after a cut miss nothing with the last cursor, and the others report the cut", async () => {
  const { origin, secret, change } = await newOwner();
  const proxy = await startPausableProxy(Number(new URL(origin).port));
  ends.push(() => proxy.close());
  const followed = { origin: `http://127.0.0.1:${proxy.port}`, secret, query: KEYS, idOf };
  const audience = open({ ...followed, cursorOf });
  await untilAllReceive(audience, change);
  await proxy.cut();
  const ids = [await change(), await change()];
  await proxy.open();
  const lasting = audience.received.filter(({ name }) => !ONCE.includes(name));
  await until(() => lasting.every((client) => client.ids.at(-1) === ids[1]));
  ids.push(await change());
  await until(() => lasting.every((client) => client.ids.at(-1) === ids[2]));
  expect(seenOf(lasting, ids)).toEqual(
    each(
      lasting.map(({ name }) => name),
      ids,
    ),
  );
  for (const { name, cursor, failures } of audience.received.filter((client) => ONCE.includes(client.name))) {
    expect(failures, name).not.toEqual([]);
    const own = Object.entries(STREAMING_CLIENTS).filter(([client]) => client === name);
    const again = open({ ...followed, variables: { after: cursor } }, Object.fromEntries(own));
    await until(() => again.received[0]?.ids.at(-1) === ids[2]);
    expect(seenOf(again.received, ids)).toEqual({ [name]: ids });
  }
});
