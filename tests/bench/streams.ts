import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { WebSocket } from "ws";
import { openDatabase } from "../../src/db/open.ts";
import { startAnvil } from "../../src/devnet/chain/anvil.ts";
import { deployContracts } from "../../src/devnet/chain/deploy.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { ManagementKeyService } from "../../src/keys/management-keys/management-key.service.ts";
import { seedAccount } from "../support/seed.ts";
import type { OnEnd } from "../support/servers/database.ts";
import { until } from "../support/until.ts";
import { buildBench, PRODUCT } from "./build.ts";
import { startChild } from "./child.ts";
import { withEnds } from "./ends.ts";
import { connectInspector, type Inspector, readLiveHeap } from "./inspector.ts";

/**
 * `npm run test:streams`: 10,000 subscriptions on one gateway process, half of which resume from a cursor and
 * so share no source. Each change of a key goes to all of them. Prints memory, latency and losses, with 1,000
 * of them unread, and after half as many clients again connected and disconnected for a minute, a round a
 * second where the machine is fast enough. Memory is measured after a garbage collection. Fails when an event
 * is lost, when a subscription or its source is left behind, and when memory is not released. `--quick` uses
 * a tenth of the clients, 5 s of reconnecting, and the same checks.
 */
const QUICK = process.argv.includes("--quick");
const SOCKETS = QUICK ? 10 : 100;
const PER_SOCKET = 100;
const SLOW_SOCKETS = SOCKETS / 10;
const EVENTS = QUICK ? 10 : 30;
const RECONNECTING_S = QUICK ? 5 : 60;
const SOCKETS_PER_KEY = 20;
const PATIENCE_MS = 120_000;
const COUNT = SOCKETS * PER_SOCKET;
/** For code compiled meanwhile and caches that filled: this share of the subscriptions' memory may stay. */
const MAY_STAY = 0.25;

type Gateway = {
  readonly origin: string;
  readonly metrics: string;
  readonly pid: number;
  readonly engine: Inspector;
  readonly keys: readonly string[];
  readonly creator: string;
};

await buildBench();
await withEnds(async (onEnd) => {
  const gateway = await startGateway(onEnd);
  const { eventCursor: cursor = "" } = await ask(gateway, "{ eventCursor }");
  const idle = await memoryOf(gateway);
  const sockets = await openSockets(gateway, SOCKETS, cursor);
  onEnd(async () => {
    for (const { close } of sockets) close();
  });
  await settled(gateway, COUNT);
  const open = await memoryOf(gateway);
  const sources = await gauge(gateway, "zerograph_event_streams_open");
  console.log(
    `${COUNT} subscriptions on ${sources} sources: ${kib((open.heap - idle.heap) / COUNT)} of heap and ${kib((open.rss - idle.rss) / COUNT)} of RSS each`,
  );
  report("all read", await publish(gateway, sockets));
  const slow = sockets.slice(0, SLOW_SOCKETS);
  for (const { socket } of slow) socket.pause();
  report(`${SLOW_SOCKETS * PER_SOCKET} do not read`, await publish(gateway, sockets.slice(SLOW_SOCKETS)));
  // Clients that answered no pings during that time have been dropped by now; they reconnect.
  for (const { close } of slow) close();
  sockets.splice(0, SLOW_SOCKETS, ...(await openSockets(gateway, SLOW_SOCKETS, undefined)));
  await settled(gateway, COUNT);
  const before = await memoryOf(gateway);
  const sourcesBefore = await gauge(gateway, "zerograph_event_streams_open");
  await reconnect(gateway);
  await settled(gateway, COUNT);
  await until(
    async () => (await gauge(gateway, "zerograph_event_streams_open")) === sourcesBefore,
    PATIENCE_MS,
  );
  const after = await memoryOf(gateway);
  console.log(`before reconnecting ${shown(before)}, after it ${shown(after)}; the sources are as many`);
  mustReturn("reconnecting", before.heap, after.heap, open.heap - idle.heap);
  report("after reconnecting", await publish(gateway, sockets));
  for (const { close } of sockets) close();
  await settled(gateway, 0);
  const left = await memoryOf(gateway);
  console.log(`idle ${shown(idle)}, open ${shown(open)}, when all have left ${shown(left)}`);
  mustReturn("all have left", idle.heap, left.heap, open.heap - idle.heap);
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
  const limits = `socketsPerKey=${SOCKETS_PER_KEY},initMs=30000,messagesPerSecond=1000`;
  let metrics = "";
  let inspector = "";
  const child = await startChild(PRODUCT, {
    ready: /OpenAI clients +(http\S+)\/v1/,
    // The clients' heartbeats run here too: on a machine this busy no client may be dropped for a late
    // answer.
    env: { ...env, RPC_URL: anvil.url, GRAPH_LIMITS: `${limits},heartbeatMs=30000` },
    nodeFlags: ["--inspect=127.0.0.1:0"],
    onOutput: (text) => {
      metrics = /metrics ready at (\S+)\/metrics/.exec(text)?.[1] ?? metrics;
      inspector = /Debugger listening on (ws:\S+)/.exec(text)?.[1] ?? inspector;
    },
  });
  onEnd(() => child.stop());
  const [creator = "", ...others] = keys;
  const engine = await connectInspector(inspector);
  onEnd(async () => engine.close());
  return { origin: child.origin, metrics, pid: child.process.pid ?? 0, engine, keys: others, creator };
}

type Client = {
  readonly socket: WebSocket;
  /**
   * The number of events of each of its subscriptions, of all of them together, and when the last one
   * arrived.
   */
  readonly counts: number[];
  total: number;
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
    total: 0,
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
    if (type === "next" && payload.data) {
      client.counts[Number(id)] = (client.counts[Number(id)] ?? 0) + 1;
      client.total += 1;
    }
    client.lastMs = performance.now();
  });
  await promise;
  const after = cursor ? `(after: "${cursor}")` : "";
  const query = `subscription { keyChanged${after} { id cursor kind change } }`;
  for (let id = 0; id < PER_SOCKET; id++)
    socket.send(JSON.stringify({ type: "subscribe", id: String(id), payload: { query } }));
  return client;
}

type Published = { readonly latenciesMs: readonly number[]; readonly lost: number };

/** Creates keys one after the other, and waits for each until the last client has its event. */
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
    await ask(gateway, `mutation { createApiKey(input: { name: "${crypto.randomUUID()}" }) { secret } }`);
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

/**
 * Half as many sockets again connect and disconnect. Half of those resume after a cursor with one event after
 * it, and disconnect when each of their subscriptions has it; the others disconnect at once.
 */
async function reconnect(gateway: Gateway): Promise<void> {
  const { eventCursor: cursor = "" } = await ask(gateway, "{ eventCursor }");
  await ask(gateway, `mutation { createApiKey(input: { name: "${crypto.randomUUID()}" }) { secret } }`);
  const spare = gateway.keys.slice(Math.ceil(SOCKETS / SOCKETS_PER_KEY));
  const began = performance.now();
  let rounds = 0;
  while (performance.now() - began < RECONNECTING_S * 1_000) {
    const opening = Array.from({ length: SOCKETS / 2 }, async (_, n) => {
      const isResumed = n % 2 === 0;
      const key = spare[Math.floor(n / SOCKETS_PER_KEY)] ?? "";
      const client = await openSocket(gateway, key, isResumed ? cursor : undefined);
      if (isResumed) await until(() => client.total >= PER_SOCKET, PATIENCE_MS);
      client.close();
    });
    await Promise.all(opening);
    rounds += 1;
    await sleep(Math.max(0, began + rounds * 1_000 - performance.now()));
  }
  const seconds = (performance.now() - began) / 1_000;
  const each = (SOCKETS / 2) * PER_SOCKET;
  console.log(
    `reconnecting: ${rounds} rounds of ${each} subscriptions in ${Math.round(seconds)} s, ${Math.round((rounds * each) / seconds)} a second`,
  );
}

type Memory = { readonly heap: number; readonly rss: number };

/** The memory in use after a garbage collection. */
async function memoryOf({ engine, pid }: Gateway): Promise<Memory> {
  const heap = await readLiveHeap(engine);
  const rss = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) * 1_024;
  return { heap, rss };
}

function mustReturn(when: string, before: number, after: number, taken: number): void {
  if (after - before <= taken * MAY_STAY) return;
  console.error(`${when}: ${mib(after - before)} of heap were not released`);
  process.exitCode = 1;
}

async function settled(gateway: Gateway, count: number): Promise<void> {
  await until(async () => (await gauge(gateway, "zerograph_subscriptions_open")) === count, PATIENCE_MS);
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

async function gauge({ metrics }: Gateway, name: string): Promise<number> {
  const text = await (await fetch(`${metrics}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\d+)`, "m").exec(text)?.[1]);
}

function shown({ heap, rss }: Memory): string {
  return `${mib(heap)} of heap (RSS ${mib(rss)})`;
}

function kib(bytes: number): string {
  return `${(bytes / 1_024).toFixed(1)} KiB`;
}

function mib(bytes: number): string {
  return `${Math.round(bytes / 1_048_576)} MiB`;
}
