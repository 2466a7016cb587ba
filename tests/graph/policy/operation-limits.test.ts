// @module-tag large
import { readFileSync } from "node:fs";
import { buildSchema, type GraphQLField, parse } from "graphql";
import { createClient as createSseClient } from "graphql-sse";
import { createClient } from "graphql-ws";
import { afterEach, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { newId } from "../../../src/kernel/text/ids.ts";
import { ROUTER_HEADER } from "../../../subgraphs/shared/caller.ts";
import { requestsOf } from "../../../subgraphs/shared/schema/root-requests.ts";
import { MODEL } from "../../support/chain/network.ts";
import { ask, type GraphResult } from "../../support/clients/graph-client.ts";
import { seedAccount } from "../../support/seed.ts";
import { ROUTER_SECRET, startRemoteGateway } from "../../support/servers/remote-gateway.ts";
import { useStack, useStarted } from "../../support/stack.ts";
import { until } from "../../support/until.ts";

const LIMIT = 20;
const stack = useStack({
  RATE_LIMIT_PER_KEY: String(LIMIT),
  RATE_LIMIT_PER_ADDRESS: String(LIMIT),
  TRUSTED_PROXIES: "127.0.0.1",
});
const remote = useStarted((onEnd) =>
  startRemoteGateway(stack(), (end) => onEnd(async () => void (await end()))),
);

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const CHAT = `completeChat(input: { model: "${MODEL}", messages: [{ role: "user", content: "Hello" }], maxTokens: 2 }) { completion { bill { requestId } } }`;
const QUERY = "{ __typename }";
const aliased = (count: number, field: string) =>
  Array.from({ length: count }, (_, n) => `a${n}: ${field}`).join(" ");

/** The code of the first error, if there is one. */
const codeOf = ({ errors }: Pick<GraphResult, "errors">) => errors?.[0]?.extensions?.code;

async function newKey() {
  return seedAccount(stack().app.database, 10n ** 18n);
}

async function chatsOf(account: string): Promise<number> {
  const [row] = await stack().app.database.rows<{ count: string | number }>(
    "select count(*) as count from inference_request where account = $1",
    [account],
  );
  return Number(row?.count);
}

/** A caller without a credential, with its own address. */
let addresses = 0;
const newAddress = () => `198.51.100.${++addresses}`;

type Sent = { readonly secret?: string; readonly address?: string; readonly accept?: string };

async function post(path: string, query: string, { secret, address, accept = "application/json" }: Sent) {
  const reply = await fetch(`${stack().origin}${path}`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept,
      ...(address && { "x-forwarded-for": address }),
      ...(secret && { authorization: `Bearer ${secret}` }),
    },
    body: JSON.stringify({ query }),
  });
  return { status: reply.status, headers: reply.headers, text: await reply.text() };
}

/**
 * How often an operation is admitted until the limit refuses it, over each transport; other counted requests
 * first.
 */
const TRANSPORTS: Readonly<Record<string, (query: string, sent: Sent) => Promise<number>>> = {
  HTTP: (query, sent) => untilRefused(() => post("/graphql", query, sent)),
  "HTTP, negotiated": (query, sent) =>
    untilRefused(() => post("/graphql", query, { ...sent, accept: "application/graphql-response+json" })),
  multipart: (query, sent) =>
    untilRefused(() =>
      post("/graphql", query, { ...sent, accept: "multipart/mixed;subscriptionSpec=1.0,application/json" }),
    ),
  "server-sent events": (query, sent) =>
    untilRefused(() => post("/graphql/stream", query, { ...sent, accept: "text/event-stream" })),
  WebSocket: async (query, { secret, address }) => {
    const client = createClient({
      url: `${stack().origin.replace("http", "ws")}/graphql`,
      webSocketImpl: address
        ? class extends WebSocket {
            constructor(url: string | URL, protocols?: string | string[]) {
              super(url, protocols, { headers: { "x-forwarded-for": address } });
            }
          }
        : WebSocket,
      ...(secret && { connectionParams: { authorization: `Bearer ${secret}` } }),
      retryAttempts: 0,
      lazyCloseTimeout: 60_000,
    });
    ends.push(() => client.dispose());
    return (await countClient((sink) => client.subscribe({ query }, sink))) + 1;
  },
};

type Sink = { next(): void; error(reason: unknown): void; complete(): void };

async function countClient(subscribe: (sink: Sink) => unknown): Promise<number> {
  for (let passed = 0; passed < 3 * LIMIT; passed++) {
    const refused = await new Promise<unknown>((resolve) =>
      subscribe({ next: () => {}, error: resolve, complete: () => resolve(undefined) }),
    );
    if (refused === undefined) continue;
    expect(JSON.stringify(refused)).toContain("rate_limit_exceeded");
    return passed;
  }
  throw new Error("nothing was refused");
}

async function untilRefused(send: () => Promise<{ status: number; headers: Headers; text: string }>) {
  for (let passed = 0; passed < 3 * LIMIT; passed++) {
    const { status, headers, text } = await send();
    if (status === 200) continue;
    expect(status).toBe(429);
    expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
    const { errors } = JSON.parse(text);
    expect(errors).toMatchObject([
      { extensions: { code: "rate_limit_exceeded", retryAfter: expect.any(Number) } },
    ]);
    return passed;
  }
  throw new Error("nothing was refused");
}

describe.each(Object.keys(TRANSPORTS))("over %s", (transport) => {
  const count = TRANSPORTS[transport] ?? (() => Promise.reject(new Error("no such transport")));

  test("each operation counts as one request of its key", async () => {
    const { secret } = await newKey();
    expect(await count(QUERY, { secret })).toBe(LIMIT);
  });

  test("each operation without a credential counts as one request of its address", async () => {
    expect(await count(QUERY, { address: newAddress() })).toBe(LIMIT);
  });

  test("each root field of a mutation counts as one, aliases and fragments included", async () => {
    const { secret, account } = await newKey();
    const mutation = `mutation { ...more ${aliased(5, "createSignInNonce { nonce }")} } fragment more on Mutation { b: createSignInNonce { nonce } c: signOut { endedSessionCount } }`;
    expect(requestsOf(parse(mutation), parse(mutation).definitions[0] as never)).toBe(7);
    const passed = await count(mutation, { secret });
    // Opening the socket counts as one more.
    expect(passed).toBe(transport === "WebSocket" ? 3 : 2);
    expect(await chatsOf(account)).toBe(0);
  });
});

test("of many chats on one socket only as many are answered and charged as the limit allows", async () => {
  const { secret, account } = await newKey();
  const client = createClient({
    url: `${stack().origin.replace("http", "ws")}/graphql`,
    webSocketImpl: WebSocket,
    connectionParams: { authorization: `Bearer ${secret}` },
  });
  ends.push(() => client.dispose());
  const results = await Promise.all(
    Array.from(
      { length: 60 },
      () =>
        new Promise<string>((resolve) =>
          client.subscribe(
            { query: `mutation { ${CHAT} }` },
            {
              next: (result) => resolve(result.errors ? JSON.stringify(result.errors) : "answered"),
              error: (reason) => resolve(JSON.stringify(reason)),
              complete() {},
            },
          ),
        ),
    ),
  );
  expect(results.filter((result) => result === "answered")).toHaveLength(LIMIT - 1);
  expect(results.filter((result) => result.includes("rate_limit_exceeded"))).toHaveLength(61 - LIMIT);
  await until(async () => (await chatsOf(account)) === LIMIT - 1);
});

test("ten chats in one request count as ten", async () => {
  const { secret, account } = await newKey();
  const ten = `mutation { ${aliased(10, CHAT)} }`;
  for (const code of [undefined, undefined, "rate_limit_exceeded"])
    expect(codeOf(await ask(stack().origin, secret, ten))).toBe(code);
  await until(async () => (await chatsOf(account)) === 20);
});

test("operations on one event stream for several count as on any other", async () => {
  const { secret } = await newKey();
  const client = createSseClient({
    url: `${stack().origin}/graphql/stream`,
    headers: { authorization: `Bearer ${secret}` },
    singleConnection: true,
    retryAttempts: 0,
    lazyCloseTimeout: 60_000,
  });
  ends.push(() => client.dispose());
  let passed = 0;
  const one = () =>
    new Promise<boolean>((resolve) =>
      client.subscribe(
        { query: QUERY },
        { next: () => {}, error: () => resolve(false), complete: () => resolve(true) },
      ),
    );
  while (await one()) passed += 1;
  // Reserving and opening the stream were one request each.
  expect(passed).toBe(LIMIT - 2);
});

test("every field that changes something is a field of Mutation, and counts under each alias", () => {
  const schema = buildSchema(readFileSync("schema/api.graphql", "utf8"));
  const fields: readonly GraphQLField<unknown, unknown>[] = Object.values(
    schema.getMutationType()?.getFields() ?? {},
  );
  expect(fields.length).toBeGreaterThan(10);
  for (const { name } of fields) {
    const document = parse(`mutation { ${aliased(3, name)} __typename }`);
    expect([name, requestsOf(document, document.definitions[0] as never)]).toEqual([name, 3]);
  }
});

describe("a request of an external router to a subgraph", () => {
  const send = async (headers: Readonly<Record<string, string>>, query: string) => {
    const reply = await fetch(`${remote().urls.accounts}/graphql`, {
      method: "POST",
      headers: { "content-type": "application/json", [ROUTER_HEADER]: ROUTER_SECRET, ...headers },
      body: JSON.stringify({ query }),
    });
    return { status: reply.status, ...((await reply.json()) as GraphResult) };
  };

  test("counts for the client, and entity lookups do not", async () => {
    const { secret, account } = await newKey();
    const authorization = `Bearer ${secret}`;
    const entities = `{ _entities(representations: [{ __typename: "Account", address: "${account}" }]) { __typename } }`;
    for (let n = 0; n < LIMIT; n++) {
      expect(codeOf(await send({ authorization }, QUERY))).toBeUndefined();
      expect(codeOf(await send({ authorization }, entities))).toBeUndefined();
    }
    const refused = await send({ authorization }, QUERY);
    expect([refused.status, codeOf(refused)]).toEqual([200, "rate_limit_exceeded"]);
  });

  test("through our own gateway is counted once", async () => {
    const { secret } = await newKey();
    let passed = 0;
    while (codeOf(await ask(remote().origin, secret, "{ viewer { kind } }")) === undefined) passed += 1;
    expect(passed).toBe(LIMIT);
  });
});

describe("the last use of a key is recorded", () => {
  const READ = ["account:read", "keys:read"] as const;
  const newManagementKey = async () => {
    const { account } = await seedAccount(stack().app.database, 1n);
    const { key, secret } = await stack().app.managementKeys.create(account, newId(), READ);
    return { account, secret, id: key.id };
  };
  const useOf = async (id: string) => {
    const [row] = await stack().app.database.rows<{ last_used_at: unknown; last_source_ip: string | null }>(
      "select last_used_at, last_source_ip from management_key where id = $1::uuid",
      [id],
    );
    return row;
  };
  const sendOver: Readonly<Record<string, (query: string, secret: string) => Promise<unknown>>> = {
    HTTP: (query, secret) => post("/graphql", query, { secret }),
    "HTTP, negotiated": (query, secret) =>
      post("/graphql", query, { secret, accept: "application/graphql-response+json" }),
    "server-sent events": (query, secret) =>
      post("/graphql/stream", query, { secret, accept: "text/event-stream" }),
    WebSocket: async (query, secret) => {
      const client = createClient({
        url: `${stack().origin.replace("http", "ws")}/graphql`,
        webSocketImpl: WebSocket,
        connectionParams: { authorization: `Bearer ${secret}` },
        retryAttempts: 0,
      });
      await new Promise<void>((resolve) =>
        client.subscribe({ query }, { next() {}, error: () => resolve(), complete: resolve }),
      );
      await client.dispose();
    },
  };
  const refusals: readonly (readonly [why: string, query: string])[] = [
    ["not GraphQL", "{"],
    ["not valid", "{ nothing }"],
    ["above a limit", `{ ${"a { ".repeat(20)} b ${" }".repeat(20)} }`],
    [
      "without the required scope",
      '{ request(id: "none") { id } viewer { account { managementKeys { nodes { id } } } } }',
    ],
    ["without the scope for a mutation", `mutation { createApiKey(input: { name: "x" }) { apiKey { id } } }`],
    ["a mutation that fails", 'mutation { signIn(input: { message: "none", signature: "0x00" }) { token } }'],
    ["with variables that do not fit", "query ($first: Int!) { models(first: $first) { nodes { id } } }"],
  ];

  test.each(Object.keys(sendOver))(
    "over %s when an operation succeeds, and not when it is refused",
    async (name) => {
      const { secret, id } = await newManagementKey();
      const send = sendOver[name] ?? (() => Promise.reject(new Error("no such transport")));
      for (const [why, query] of refusals) {
        await send(query, secret);
        await stack().app.keyUse.drain();
        expect([why, await useOf(id)]).toEqual([why, { last_used_at: null, last_source_ip: null }]);
      }
      await send("{ viewer { kind } }", secret);
      await stack().app.keyUse.drain();
      expect(await useOf(id)).toEqual({ last_used_at: expect.anything(), last_source_ip: "127.0.0.1" });
    },
  );

  test("when a subscription is opened, and not when an idle socket or stream is", async () => {
    const { secret, id } = await newManagementKey();
    const reply = await fetch(`${stack().origin}/graphql/stream`, {
      method: "PUT",
      headers: { authorization: `Bearer ${secret}` },
    });
    expect(reply.status).toBe(201);
    const client = createClient({
      url: `${stack().origin.replace("http", "ws")}/graphql`,
      webSocketImpl: WebSocket,
      connectionParams: { authorization: `Bearer ${secret}` },
      lazy: false,
    });
    ends.push(() => client.dispose());
    await new Promise((resolve) => client.on("connected", resolve));
    await stack().app.keyUse.drain();
    expect((await useOf(id))?.last_used_at).toBeNull();
    client.subscribe(
      { query: "subscription { keyChanged { id } }" },
      { next() {}, error() {}, complete() {} },
    );
    await until(async () => {
      await stack().app.keyUse.drain();
      return (await useOf(id))?.last_used_at !== null;
    });
  });
});
