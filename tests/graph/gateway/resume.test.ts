// @module-tag large
import { once } from "node:events";
import type { FastifyInstance } from "fastify";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { openGraph } from "../../../gateway/federation/graph.ts";
import { createServer } from "../../../gateway/server.ts";
import { newId } from "../../../src/kernel/text/ids.ts";
import { modules } from "../../../subgraphs/modules.ts";
import { createSubgraphServer } from "../../../subgraphs/serve.ts";
import { type Following, followEvents, followSocket } from "../../support/clients/graph-client.ts";
import { untilPublished } from "../../support/events.ts";
import { seedAccount } from "../../support/seed.ts";
import { useStack } from "../../support/stack.ts";
import { until } from "../../support/until.ts";

const SECRET = "a secret of the tests, long enough to be taken";
const KEYS = "subscription { keyChanged { id change apiKey { name } } }";
const GIVEN_UP_AFTER_MS = 1_500;

const stack = useStack({ GRAPH_LIMITS: `resumeMs=${GIVEN_UP_AFTER_MS}` });
const ends: (() => Promise<unknown>)[] = [];
const subgraphs = new Map<string, FastifyInstance>();
let origin: string;

/** Serves a subgraph as a separate process would; on its previous port, if it had one. */
async function start(name: string, port = 0): Promise<string> {
  const module = modules.find((one) => one.name === name);
  if (!module) throw new Error(`there is no subgraph ${name}`);
  const server = await createSubgraphServer(stack().app, module.build(), {
    secrets: [SECRET],
    routerSecret: undefined,
  });
  subgraphs.set(name, server);
  return server.listen({ host: "127.0.0.1", port });
}

/** Stops the accounts subgraph, and returns how to start it again. */
async function stop(): Promise<() => Promise<unknown>> {
  const server = subgraphs.get("accounts");
  const port = Number(new URL(server?.listeningOrigin ?? "").port);
  await server?.close();
  return () => start("accounts", port);
}

beforeAll(async () => {
  const urls: Record<string, string> = {};
  for (const { name } of modules) urls[name] = await start(name);
  ends.unshift(async () => {
    for (const server of subgraphs.values()) await server.close();
  });
  const graph = await openGraph({ kind: "remote", urls, secret: SECRET }, stack().app);
  ends.unshift(() => graph.close());
  const gateway = await createServer(stack().app, graph);
  ends.unshift(() => gateway.close());
  origin = await gateway.listen({ host: "127.0.0.1", port: 0 });
});
afterAll(async () => {
  for (const end of ends) await end();
});

test("a closing subgraph does not wait for a socket that is opened meanwhile", {
  timeout: 20_000,
}, async () => {
  const [module] = modules;
  if (!module) throw new Error("there is no subgraph");
  const trust = { secrets: [SECRET], routerSecret: undefined };
  const server = await createSubgraphServer(stack().app, module.build(), trust);
  const tried: string[] = [];
  server.addHook("preClose", async () => {
    const late = new WebSocket(
      `${server.listeningOrigin.replace("http", "ws")}/graphql`,
      "graphql-transport-ws",
    );
    const opened = once(late, "open");
    tried.push(
      await opened.then(
        () => "opened",
        () => "refused",
      ),
    );
  });
  await server.listen({ host: "127.0.0.1", port: 0 });
  await server.close();
  expect(tried).toEqual(["refused"]);
});

async function newOwner() {
  const { account } = await seedAccount(stack().app.database, 1n);
  const { secret } = await stack().app.managementKeys.create(account, newId(), ["keys:read"]);
  await untilPublished(stack().app.database);
  const names: string[] = [];
  const change = async () => {
    const name = newId();
    names.push(name);
    await stack().app.apiKeys.create(account, name);
  };
  return { secret, change, names };
}

const namesIn = ({ results }: Following) => results.map(({ data }) => data?.keyChanged.apiKey.name);

describe.each([
  ["graphql-transport-ws", followSocket],
  ["server-sent events", followEvents],
] as const)("when a subgraph is gone for a while, a subscriber over %s", (_, follow) => {
  test("receives every event published meanwhile, in order, and no error", async () => {
    const { secret, change, names } = await newOwner();
    const following = await follow(origin, secret, KEYS);
    await until(() => stack().app.events.openStreams === 1);
    await change();
    await until(() => following.results.length === 1);
    const restart = await stop();
    await until(() => stack().app.events.openStreams === 0);
    await change();
    await change();
    await restart();
    await until(() => following.results.length === 3);
    await change();
    await until(() => following.results.length === 4);
    expect(namesIn(following)).toEqual(names);
    await following.stop();
    await until(() => stack().app.events.openStreams === 0);
  });

  test("receives them also when there was no event before", async () => {
    const { secret, change, names } = await newOwner();
    const following = await follow(origin, secret, KEYS);
    await until(() => stack().app.events.openStreams === 1);
    const restart = await stop();
    await change();
    await restart();
    await until(() => following.results.length === 1);
    expect(namesIn(following)).toEqual(names);
    await following.stop();
    await until(() => stack().app.events.openStreams === 0);
  });

  test("gets an error by name when it does not come back", async () => {
    const { secret } = await newOwner();
    const following = await follow(origin, secret, KEYS);
    await until(() => stack().app.events.openStreams === 1);
    const since = performance.now();
    const restart = await stop();
    await until(() => following.results.length === 1 || following.failure !== undefined);
    const [lastError] = following.failure ?? following.results[0]?.errors ?? [];
    expect(lastError?.extensions?.code).toBe("unavailable");
    expect(performance.now() - since).toBeGreaterThan(GIVEN_UP_AFTER_MS);
    await following.stop();
    await restart();
  });

  test("may disconnect while it is gone", async () => {
    const { secret } = await newOwner();
    const following = await follow(origin, secret, KEYS);
    await until(() => stack().app.events.openStreams === 1);
    const restart = await stop();
    await following.stop();
    await restart();
    await until(() => stack().app.credentialWatch.size === 0);
    expect(stack().app.events.openStreams).toBe(0);
  });
});

test("a subscription with a side effect on opening is never reopened automatically", async () => {
  const { secret } = await seedAccount(stack().app.database, 1_000_000n);
  const document =
    'subscription { completeChat(input: { model: "none", messages: [] }) { bill { requestId } } }';
  const following = await followEvents(origin, secret, document);
  await following.closed;
  expect(following.results).toMatchObject([{ errors: [{ extensions: { code: expect.any(String) } }] }]);
});
