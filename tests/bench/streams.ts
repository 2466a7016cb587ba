import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { WebSocket } from "ws";
import { openDatabase } from "../../src/db/open.ts";
import { startAnvil } from "../../src/devnet/anvil.ts";
import { deployContracts } from "../../src/devnet/deploy.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { ManagementKeyService } from "../../src/keys/management-key.service.ts";
import type { OnEnd } from "../support/database.ts";
import { seedAccount } from "../support/seed.ts";
import { until } from "../support/until.ts";
import { startChild } from "./child.ts";
import { withEnds } from "./ends.ts";

/**
 * `npm run test:streams`: 10,000 subscriptions on one gateway process, half of which resume from a cursor and so share no
 * source. Each change of a key goes to all of them. Prints memory, latency and losses, with 1,000 of them unread, and
 * after half of the clients reconnected every second. Fails when an event is lost or a subscription is left behind.
 * `--quick` takes a tenth of the clients, 5 s of reconnecting, and the same checks.
 */
const QUICK = process.argv.includes("--quick");
const SOCKETS = QUICK ? 10 : 100;
const PER_SOCKET = 100;
const SLOW_SOCKETS = SOCKETS / 10;
const EVENTS = QUICK ? 10 : 30;
const RECONNECTING_S = QUICK ? 5 : 60;
const SOCKETS_PER_KEY = 20;
const PATIENCE_MS = 60_000;

type Gateway = {
  readonly origin: string;
  readonly metrics: string;
  readonly pid: number;
  readonly keys: readonly string[];
  readonly creator: string;
};

await withEnds(async (onEnd) => {
  const gateway = await startGateway(onEnd);
  const idle = rssBytes(gateway);
  const { eventCursor: cursor = "" } = await ask(gateway, "{ eventCursor }");
  const sockets = await openSockets(gateway, SOCKETS, cursor);
  onEnd(async () => {
    for (const { close } of sockets) close();
  });
  const count = SOCKETS * PER_SOCKET;
  await until(async () => (await openSubscriptions(gateway)) === count, PATIENCE_MS);
  const open = rssBytes(gateway);
  console.log(
    `${count} subscriptions: ${Math.round((open - idle) / count / 102.4) / 10} KiB each, RSS ${mib(open)}`,
  );
  report("all read", await publish(gateway, sockets));
  const slow = sockets.slice(0, SLOW_SOCKETS);
  for (const { socket } of slow) socket.pause();
  report(`${SLOW_SOCKETS * PER_SOCKET} do not read`, await publish(gateway, sockets.slice(SLOW_SOCKETS)));
  // Who answers no pings for so long is dropped by now; they come anew.
  for (const { close } of slow) close();
  sockets.splice(0, SLOW_SOCKETS, ...(await openSockets(gateway, SLOW_SOCKETS, undefined)));
  await reconnect(gateway);
  await until(async () => (await openSubscriptions(gateway)) === count, PATIENCE_MS);
  report("after reconnecting", await publish(gateway, sockets));
  for (const { close } of sockets) close();
  await until(async () => (await openSubscriptions(gateway)) === 0, PATIENCE_MS);
  await sleep(2_000);
  console.log(`RSS ${mib(rssBytes(gateway))} when all have left, ${mib(idle)} before`);
});

async function startGateway(onEnd: OnEnd): Promise<Gateway> {
  const anvil = await startAnvil();
  onEnd(() => anvil.stop());
  await deployContracts(anvil.url);
  const folder = await mkdtemp(join(tmpdir(), "zerograph-streams-"));
  onEnd(() => rm(folder, { recursive: true, force: true }));
  const database = await openDatabase({ kind: "folder", path: folder });
  const { account } = await seedAccount(database, 1n);
  const service = new ManagementKeyService({ database, clock: systemClock, committed: () => {} });
  const newKey = async (name: string) =>
    (await service.create(account, name, ["keys:read", "keys:create"])).secret;
  const names = Array.from({ length: Math.ceil(SOCKETS / SOCKETS_PER_KEY) * 2 + 1 }, (_, n) => `key ${n}`);
  const keys: string[] = [];
  for (const name of names) keys.push(await newKey(name));
  await database.close();
  const env = { NETWORK: "devnet", PORT: "0", METRICS_PORT: "0", LOG_LEVEL: "error", DATA_DIR: folder };
  let metrics = "";
  const child = await startChild("gateway/main.ts", {
    ready: /OpenAI clients +(http\S+)\/v1/,
    env: { ...env, RPC_URL: anvil.url, GRAPH_LIMITS: `socketsPerKey=${SOCKETS_PER_KEY},initMs=30000` },
    onOutput: (text) => {
      metrics = /metrics ready at (\S+)\/metrics/.exec(text)?.[1] ?? metrics;
    },
  });
  onEnd(() => child.stop());
  const [creator = "", ...others] = keys;
  return { origin: child.origin, metrics, pid: child.process.pid ?? 0, keys: others, creator };
}

type Client = {
  readonly socket: WebSocket;
  /** How many events each of its subscriptions got, and when the last one came. */
  readonly counts: number[];
  lastMs: number;
  close(): void;
};

async function openSockets(gateway: Gateway, count: number, cursor: string | undefined): Promise<Client[]> {
  const clients: Client[] = [];
  while (clients.length < count) {
    const from = clients.length;
    const key = gateway.keys[Math.floor(from / SOCKETS_PER_KEY)] ?? "";
    const some = Array.from({ length: Math.min(SOCKETS_PER_KEY, count - from) }, (_, n) =>
      openSocket(gateway, key, n % 2 === 0 ? undefined : cursor),
    );
    clients.push(...(await Promise.all(some)));
  }
  return clients;
}

async function openSocket(gateway: Gateway, key: string, cursor: string | undefined): Promise<Client> {
  const socket = new WebSocket(`${gateway.origin.replace("http", "ws")}/graphql`, "graphql-transport-ws");
  const client: Client = {
    socket,
    counts: Array(PER_SOCKET).fill(0),
    lastMs: 0,
    close: () => socket.terminate(),
  };
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  socket.on("error", reject);
  socket.once("close", (code, reason) => reject(new Error(`closed with ${code} ${reason}`)));
  promise.catch(() => {});
  socket.on("open", () =>
    socket.send(JSON.stringify({ type: "connection_init", payload: { authorization: `Bearer ${key}` } })),
  );
  socket.on("message", (data) => {
    const { type, id, payload } = JSON.parse(String(data));
    if (type === "connection_ack") resolve();
    if (type === "next" && payload.data) client.counts[Number(id)] = (client.counts[Number(id)] ?? 0) + 1;
    client.lastMs = performance.now();
  });
  await promise;
  const after = cursor ? `(after: "${cursor}")` : "";
  const query = `subscription { keyChanged${after} { id cursor kind change } }`;
  for (let id = 0; id < PER_SOCKET; id++) {
    socket.send(JSON.stringify({ type: "subscribe", id: String(id), payload: { query } }));
    // Within what one socket may send in a second.
    await sleep(11);
  }
  return client;
}

type Published = { readonly latenciesMs: readonly number[]; readonly lost: number };

/** Makes keys one after the other, and waits for each until the last client has its event. */
async function publish(gateway: Gateway, clients: readonly Client[]): Promise<Published> {
  const before = clients.map(({ counts }) => [...counts]);
  const latenciesMs: number[] = [];
  const behind = (n: number) =>
    clients.reduce(
      (sum, { counts }, at) => sum + counts.filter((got, id) => got < (before[at]?.[id] ?? 0) + n).length,
      0,
    );
  for (let n = 1; n <= EVENTS; n++) {
    const since = performance.now();
    await ask(gateway, `mutation { createApiKey(name: "${crypto.randomUUID()}") { secret } }`);
    await until(() => behind(n) === 0, PATIENCE_MS).catch(() => undefined);
    latenciesMs.push(Math.max(...clients.map(({ lastMs }) => lastMs)) - since);
  }
  return { latenciesMs, lost: behind(EVENTS) };
}

function report(title: string, { latenciesMs, lost }: Published): void {
  const sorted = latenciesMs.toSorted((one, other) => one - other);
  const at = (share: number) => Math.round(sorted[Math.ceil(sorted.length * share) - 1] ?? 0);
  console.log(`${title}: publish to last client p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, ${lost} lost`);
  if (lost > 0) process.exitCode = 1;
}

/** Half as many sockets again come and go every second. */
async function reconnect(gateway: Gateway): Promise<void> {
  console.log("reconnecting ...");
  const { eventCursor: cursor = "" } = await ask(gateway, "{ eventCursor }");
  const before = rssBytes(gateway);
  const spare = gateway.keys.slice(Math.ceil(SOCKETS / SOCKETS_PER_KEY));
  for (let second = 0; second < RECONNECTING_S; second++) {
    const since = performance.now();
    const open = Array.from({ length: SOCKETS / 2 }, (_, n) =>
      openSocket(gateway, spare[Math.floor(n / SOCKETS_PER_KEY)] ?? "", n % 2 === 0 ? undefined : cursor),
    );
    for (const client of await Promise.all(open)) client.close();
    await sleep(Math.max(0, 1_000 - (performance.now() - since)));
  }
  console.log(
    `RSS ${mib(before)} before and ${mib(rssBytes(gateway))} after ${RECONNECTING_S} s of reconnecting`,
  );
}

async function ask({ origin, creator }: Gateway, query: string): Promise<Record<string, string>> {
  const reply = await fetch(`${origin}/graphql`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${creator}` },
    body: JSON.stringify({ query }),
  });
  const { data, errors } = (await reply.json()) as { data: Record<string, string>; errors?: unknown };
  if (errors) throw new Error(JSON.stringify(errors));
  return data;
}

async function openSubscriptions({ metrics }: Gateway): Promise<number> {
  const text = await (await fetch(`${metrics}/metrics`)).text();
  return Number(/^zerograph_\w*subscriptions\w* (\d+)/m.exec(text)?.[1]);
}

function rssBytes({ pid }: Gateway): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) * 1_024;
}

function mib(bytes: number): string {
  return `${Math.round(bytes / 1_048_576)} MiB`;
}
