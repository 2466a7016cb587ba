// @module-tag medium
import { createHash } from "node:crypto";
import { createClient } from "graphql-ws";
import { describe, expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { newId } from "../../../src/kernel/text/ids.ts";
import { seedAccount } from "../../support/seed.ts";
import { useStack } from "../../support/stack.ts";
import { until } from "../../support/until.ts";

const stack = useStack();
const EVENTS = "text/event-stream";
const MULTIPART = 'multipart/mixed;subscriptionSpec="1.0", application/json';
const UNKNOWN = '"message":"PersistedQueryNotFound"';

/** A document that no other test has, and Apollo's extension with its hash. */
function newDocument(operation: string) {
  const query = `${operation} # ${newId()}`;
  const sha256Hash = createHash("sha256").update(query).digest("hex");
  return { query, extensions: { persistedQuery: { version: 1, sha256Hash } } };
}

/** A caller, and what causes an event for its subscriptions. */
async function newOwner() {
  const { app } = stack();
  const { account } = await seedAccount(app.database, 1n);
  const { secret } = await app.managementKeys.create(account, newId(), ["keys:read"]);
  return { secret, change: async () => void (await app.apiKeys.create(account, newId())) };
}

/** The text of a streamed answer until it has a result. Meanwhile events are caused. */
async function streamed(
  { path, accept, secret }: { path: string; accept: string; secret: string },
  body: object,
  change?: () => Promise<void>,
): Promise<string> {
  const left = new AbortController();
  onTestFinished(() => left.abort());
  const reply = await fetch(stack().origin + path, {
    method: "POST",
    headers: { "content-type": "application/json", accept, authorization: `Bearer ${secret}` },
    body: JSON.stringify(body),
    signal: left.signal,
  });
  let text = "";
  const read = async () => {
    for await (const chunk of reply.body ?? []) text += Buffer.from(chunk).toString();
  };
  read().catch(() => {});
  // A subscription may miss what happens before it is open.
  await until(async () => {
    await change?.();
    return /"(?:data|errors)"/.test(text);
  });
  return text;
}

describe.each([
  ["server-sent events at /graphql/stream", { path: "/graphql/stream", accept: EVENTS }],
  ["server-sent events at /graphql", { path: "/graphql", accept: EVENTS }],
  ["multipart", { path: "/graphql", accept: MULTIPART }],
])("over %s", (_name, transport) => {
  test("a subscription is registered with its hash, and then runs by the hash alone", async () => {
    const { secret, change } = await newOwner();
    const { query, extensions } = newDocument("subscription { keyChanged { keyId } }");
    const send = (body: object) => streamed({ ...transport, secret }, body, change);
    const unknown = await send({ extensions });
    expect(unknown).toContain(UNKNOWN);
    expect(unknown).toContain('"code":"PERSISTED_QUERY_NOT_FOUND"');
    expect(await send({ query, extensions })).toContain('"keyChanged"');
    expect(await send({ extensions })).toContain('"keyChanged"');
  });

  test("a hash that is not that of the query is refused, and not registered", async () => {
    const { secret } = await newOwner();
    const { query } = newDocument("subscription { keyChanged { keyId } }");
    const { extensions } = newDocument("subscription { keyChanged { keyId } }");
    const send = (body: object) => streamed({ ...transport, secret }, body);
    expect(await send({ query, extensions })).toContain("extensions.persistedQuery.sha256Hash is not");
    expect(await send({ extensions })).toContain(UNKNOWN);
  });
});

test("a query that was registered over JSON runs by its hash over events and a WebSocket", async () => {
  const { secret } = await newOwner();
  const { query, extensions } = newDocument("{ network { chainId } }");
  const send = (accept: string, path: string, body: object) => streamed({ path, accept, secret }, body);
  expect(await send("application/json", "/graphql", { query, extensions })).toContain('"chainId"');
  expect(await send(EVENTS, "/graphql/stream", { extensions })).toContain('"chainId"');
  const client = createClient({
    url: `${stack().origin.replace("http", "ws")}/graphql`,
    webSocketImpl: WebSocket,
  });
  onTestFinished(() => client.dispose());
  for await (const result of client.iterate({ query: "", extensions }))
    expect(result.data).toMatchObject({ network: { chainId: expect.anything() } });
});
