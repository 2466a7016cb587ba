// @module-tag large
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { json } from "node:stream/consumers";
import { getAddress } from "viem";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { WebSocket } from "ws";
import { SCOPES } from "../../../src/keys/auth/principal.ts";
import { ROUTER_HEADER } from "../../../subgraphs/shared/caller.ts";
import { PRINCIPAL_HEADER, sealPrincipal } from "../../../subgraphs/shared/principal-token.ts";
import { seedAccount } from "../../support/seed.ts";
import { ROUTER_SECRET, startRemoteGateway } from "../../support/servers/remote-gateway.ts";
import { useStack, useStarted } from "../../support/stack.ts";
import { until } from "../../support/until.ts";

const stack = useStack();
const remote = useStarted((onEnd) =>
  startRemoteGateway(stack(), (end) => onEnd(async () => void (await end()))),
);
const accounts = () => `${remote().urls.accounts}/graphql`;
const router = { [ROUTER_HEADER]: ROUTER_SECRET };
const VIEWER = "{ viewer { kind account { address } } }";

async function ask(headers: Readonly<Record<string, string>>, query = VIEWER, variables: object = {}) {
  const reply = await fetch(accounts(), {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify({ query, variables }),
  });
  return {
    status: reply.status,
    ...((await reply.json()) as { data?: unknown; errors?: readonly object[] }),
  };
}

async function managementKey() {
  const { account } = await seedAccount(stack().app.database, 1n);
  const made = await stack().app.managementKeys.create(account, "a router's client", [...SCOPES]);
  return { account, id: made.key.id, secret: made.secret };
}

test("an external router with its secret is answered in the name of the credential that it forwards", async () => {
  const { account, id, secret } = await managementKey();
  const { app } = stack();
  expect(await ask({ ...router, authorization: `Bearer ${secret}` })).toEqual({
    status: 200,
    data: { viewer: { kind: "MANAGEMENT_KEY", account: { address: getAddress(account) } } },
  });
  expect(await ask(router)).toMatchObject({ data: { viewer: { kind: "ANONYMOUS", account: null } } });
  await until(async () => {
    const [row] = await app.database.rows<{ last_used_at: Date | null }>(
      "select last_used_at from management_key where id = $1::uuid",
      [id],
    );
    return row?.last_used_at !== null;
  });
});

test.each<[who: string, headers: () => Readonly<Record<string, string>>]>([
  ["without a secret", () => ({})],
  ["with another secret", () => ({ [ROUTER_HEADER]: ROUTER_SECRET.replace("router", "rooter") })],
  ["with the secret of our gateways", () => ({ [ROUTER_HEADER]: remote().secret })],
  [
    "with a principal that it signed itself",
    () => ({ ...router, [PRINCIPAL_HEADER]: forged(ROUTER_SECRET) }),
  ],
])("a caller %s gets no answer, whatever the credential", async (_, headers) => {
  const { secret } = await managementKey();
  const asked = await ask({ authorization: `Bearer ${secret}`, ...headers() });
  expect(asked).toEqual({
    status: 401,
    errors: [{ message: "This process only answers its gateways.", extensions: { code: "invalid_api_key" } }],
  });
});

test("a wrong client credential is an answer that routers pass on", async () => {
  expect(await ask({ ...router, authorization: "Bearer mk-nobody" })).toMatchObject({
    status: 200,
    data: null,
    errors: [{ extensions: { code: "invalid_api_key" } }],
  });
});

test("two client credentials are refused, as a proxy may have checked the other one", async () => {
  const secrets = [await managementKey(), await managementKey()];
  const { hostname, port } = new URL(accounts());
  const body = JSON.stringify({ query: VIEWER });
  const send = async (headers: readonly string[]) => {
    const sent = request({ hostname, port, path: "/graphql", method: "POST", headers }).end(body);
    const [reply] = (await once(sent, "response")) as [IncomingMessage];
    return { status: reply.statusCode, body: await json(reply) };
  };
  const all = ["host", `${hostname}:${port}`, "content-type", "application/json"];
  all.push("content-length", String(body.length));
  const two = secrets.flatMap(({ secret }) => ["authorization", `Bearer ${secret}`]);
  const errors = [{ message: "Send one Authorization header.", extensions: { code: "invalid_api_key" } }];
  expect(await send([...all, ...two, ROUTER_HEADER, ROUTER_SECRET])).toEqual({
    status: 200,
    body: { data: null, errors },
  });
  expect((await send([...all, ...two])).status).toBe(401);
});

test("positions in an error's path are numbers, as every router expects", async () => {
  const { account, secret } = await managementKey();
  const query = `{ _entities(representations: [{ __typename: "Account", address: "${account}" }]) { ... on Account { balance { total } } } }`;
  const { errors } = await ask({ ...router, authorization: `Bearer ${secret.slice(0, -1)}` }, query);
  expect(errors).toMatchObject([{ extensions: { code: "invalid_api_key" } }]);
  expect((await ask(router, query)).errors).toMatchObject([{ path: ["_entities", 0, "balance"] }]);
});

test.each([
  [undefined, "application/json"],
  ["application/json, application/graphql-response+json", "application/graphql-response+json"],
])("a router that accepts %s gets every answer as %s", async (accept, type) => {
  const { secret } = await managementKey();
  for (const headers of [
    { ...router, authorization: `Bearer ${secret}` },
    { ...router, authorization: "Bearer mk-unknown" },
    { [ROUTER_HEADER]: "another" },
  ])
    for (const query of [VIEWER, "{ unknown }", "{"]) {
      const reply = await fetch(accounts(), {
        method: "POST",
        headers: { "content-type": "application/json", ...(accept && { accept }), ...headers },
        body: JSON.stringify({ query }),
      });
      expect(reply.headers.get("content-type")?.split(";")[0]).toBe(type);
      expect(await reply.json()).toBeTypeOf("object");
    }
});

const NAMES = "viewer { account { apiKeys(first: $n) { nodes { name } } } }";

test.each([
  ["a default of a required variable", `query ($n: Int! = 1) { ${NAMES} }`, {}, ["test"]],
  ["a variable of a required type", `query ($n: Int! = 1) { ${NAMES} }`, { n: 2 }, ["test", "second"]],
  [
    "an omitted variable inside an object",
    `query ($n: Int = 1, $c: [KeyStatus!]) { viewer { account { apiKeys(first: $n, filter: { statuses: $c }) { nodes { name } } } } }`,
    {},
    ["test"],
  ],
])("a subgraph runs a document with %s alike each time it comes", async (_, query, variables, names) => {
  const { account, secret } = await managementKey();
  await stack().app.apiKeys.create(account, "second", {});
  for (let n = 0; n < 4; n++) {
    const { data, errors } = await ask({ ...router, authorization: `Bearer ${secret}` }, query, variables);
    expect(errors).toBeUndefined();
    expect(data).toEqual({ viewer: { account: { apiKeys: { nodes: names.map((name) => ({ name })) } } } });
  }
});

test("an invalid variable is refused alike each time its document comes, by its name", async () => {
  const { secret } = await managementKey();
  const query = `query ($n: Int) { ${NAMES} }`;
  for (let n = 0; n < 4; n++)
    expect(await ask({ ...router, authorization: `Bearer ${secret}` }, query, { n: "x" })).toMatchObject({
      status: 400,
      errors: [{ extensions: { code: "invalid_parameter", param: "n" } }],
    });
});

test.each([
  [`apiKeys(first: 1, after: "!!") { nodes { name } }`, "invalid_cursor", "after"],
  [
    `apiKeys(first: 1, filter: { statuses: [ACTIVE, NONE] }) { nodes { name } }`,
    undefined,
    "filter.statuses.1",
  ],
  [`usage(from: "2026-02-31T00:00:00Z") { stats { requestCount } }`, undefined, "from"],
] as const)("an invalid literal in { %s } is refused by its path", async (field, code, param) => {
  const { secret } = await managementKey();
  const credential = { ...router, authorization: `Bearer ${secret}` };
  for (let n = 0; n < 4; n++) {
    const { errors } = await ask(credential, `{ viewer { account { ${field} } } }`);
    expect(errors).toMatchObject([{ extensions: { ...(code && { code }), param } }]);
  }
});

test("a value that is no cursor is refused by the argument that its variable fills", async () => {
  const { secret } = await managementKey();
  const query =
    "query ($c: Cursor) { viewer { account { apiKeys(first: 1, after: $c) { nodes { name } } } } }";
  for (let n = 0; n < 4; n++)
    expect(await ask({ ...router, authorization: `Bearer ${secret}` }, query, { c: "!!" })).toMatchObject({
      errors: [{ extensions: { code: "invalid_cursor", param: "after" } }],
    });
});

test.each(["with the upgrade", "as connection parameters", "as headers in connection parameters"])(
  "a socket is opened by the credential that a router forwards %s, and closed when the key is revoked",
  async (how) => {
    const { account, id, secret } = await managementKey();
    const presented = { ...router, authorization: `Bearer ${secret}` };
    const parameters = { "with the upgrade": undefined, "as connection parameters": presented }[how];
    const socket = new WebSocket(accounts().replace("http", "ws"), "graphql-transport-ws", {
      headers: how === "with the upgrade" ? presented : {},
    });
    const received: { type: string }[] = [];
    socket.on("message", (data) => received.push(JSON.parse(String(data))));
    await once(socket, "open");
    const payload = how.startsWith("as headers") ? { headers: presented } : parameters;
    socket.send(JSON.stringify({ type: "connection_init", payload }));
    await until(() => received.some(({ type }) => type === "connection_ack"));
    const closed = once(socket, "close");
    await stack().app.managementKeys.revoke(account, id);
    expect((await closed)[0]).toBe(4403);
  },
);

describe("a subscription over a router's socket ends with an event that gives the reason", () => {
  const FOLLOWED = "subscription { keyChanged { change } }";

  test("when the source cannot be opened", async () => {
    const { secret } = await managementKey();
    const { received, ask } = await openSocket(secret);
    ask('subscription { keyChanged(after: "none") { change } }');
    await until(() => received.some(({ type }) => type === "complete"));
    expect(codesOf(received)).toEqual(["invalid_cursor"]);
  });

  test("when the caller lacks the permission", async () => {
    const { received, ask } = await openSocket(undefined);
    ask(FOLLOWED);
    await until(() => received.some(({ type }) => type === "complete"));
    expect(codesOf(received)).toEqual(["missing_authorization"]);
  });

  test("when the credential is wrong, and nothing else is answered there", async () => {
    const { received, ask } = await openSocket("mk-nobody");
    ask(FOLLOWED);
    await until(() => received.some(({ type }) => type === "complete"));
    expect(codesOf(received)).toEqual(["invalid_api_key"]);
    ask("{ providers { nodes { address } } }");
    await until(() => received.some(({ type }) => type === "error"));
    expect(received.filter(({ type }) => type === "next")).toHaveLength(1);
  });

  test("when the key is revoked; then the socket is closed, and its source too", async () => {
    const { app } = stack();
    const { account, id, secret } = await managementKey();
    const before = app.events.openStreams;
    const { received, ask, closed } = await openSocket(secret);
    ask(FOLLOWED);
    await until(() => app.events.openStreams > before);
    await app.managementKeys.revoke(account, id);
    expect((await closed)[0]).toBe(4403);
    expect(codesOf(received)).toEqual(["api_key_revoked"]);
    expect(received.at(-1)).toMatchObject({ type: "complete" });
    expect(app.events.openStreams).toBe(before);
  });

  test("and one that is unsubscribed closes its source, while the socket stays", async () => {
    const { app } = stack();
    const { secret } = await managementKey();
    const before = app.events.openStreams;
    const { socket, ask } = await openSocket(secret);
    const id = ask(FOLLOWED);
    await until(() => app.events.openStreams > before);
    socket.send(JSON.stringify({ type: "complete", id }));
    await until(() => app.events.openStreams === before);
    expect(socket.readyState).toBe(socket.OPEN);
    socket.terminate();
  });
});

type ReceivedMessage = {
  readonly type: string;
  readonly payload?: { errors?: { extensions: { code: string } }[] };
};

/** The codes delivered as events. */
function codesOf(received: readonly ReceivedMessage[]): readonly string[] {
  return received.flatMap(({ type, payload }) =>
    type === "next" ? (payload?.errors ?? []).map(({ extensions }) => extensions.code) : [],
  );
}

/** A router's open socket to the accounts subgraph, in the name of this credential. */
async function openSocket(secret: string | undefined) {
  const socket = new WebSocket(accounts().replace("http", "ws"), "graphql-transport-ws");
  const received: ReceivedMessage[] = [];
  const closed = once(socket, "close");
  socket.on("message", (data) => received.push(JSON.parse(String(data))));
  await once(socket, "open");
  const payload = { ...router, ...(secret && { authorization: `Bearer ${secret}` }) };
  socket.send(JSON.stringify({ type: "connection_init", payload }));
  await until(() => received.some(({ type }) => type === "connection_ack"));
  let asked = 0;
  const ask = (query: string) => {
    const id = String(++asked);
    socket.send(JSON.stringify({ type: "subscribe", id, payload: { query } }));
    return id;
  };
  return { socket, received, closed, ask };
}

test("a socket is not opened without the router's secret", async () => {
  const { secret } = await managementKey();
  const socket = new WebSocket(accounts().replace("http", "ws"), "graphql-transport-ws");
  await once(socket, "open");
  const closed = once(socket, "close");
  socket.send(JSON.stringify({ type: "connection_init", payload: { authorization: `Bearer ${secret}` } }));
  await closed;
});

function forged(secret: string): string {
  return sealPrincipal({ kind: "anonymous" }, secret);
}

test("the credential of a socket that closed while it was looked up is not watched", async () => {
  const { secret } = await managementKey();
  const { app } = stack();
  const { promise: noticed, resolve: notice } = Promise.withResolvers<void>();
  const authenticate = app.authenticate.bind(app);
  const held = vi.spyOn(app, "authenticate").mockImplementation(async (authorization) => {
    await noticed;
    return authenticate(authorization);
  });
  onTestFinished(() => held.mockRestore());
  const watch = vi.spyOn(app.credentialWatch, "watch");
  onTestFinished(() => watch.mockRestore());
  // Sockets of the tests before may still be open.
  const before = app.credentialWatch.size;
  const socket = new WebSocket(accounts().replace("http", "ws"), "graphql-transport-ws");
  await once(socket, "open");
  const payload = { ...router, authorization: `Bearer ${secret}` };
  socket.send(JSON.stringify({ type: "connection_init", payload }));
  await until(() => held.mock.calls.length === 1);
  socket.close();
  await once(socket, "close");
  notice();
  await until(() => watch.mock.calls.length === 1);
  await until(() => app.credentialWatch.size <= before);
});
