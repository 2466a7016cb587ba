import type { FastifyInstance } from "fastify";
import { afterAll, beforeAll } from "vitest";
import { openGraph } from "../../gateway/federation/graph.ts";
import { createServer } from "../../gateway/server.ts";
import { type App, createApp } from "../../src/app.ts";
import { NETWORKS, withAddresses } from "../../src/chain/networks.ts";
import { readConfig } from "../../src/config.ts";
import type { Database } from "../../src/db/database.ts";
import { openDatabase } from "../../src/db/open.ts";
import { ROUTER_WALLET } from "../../src/devnet/chain/accounts.ts";
import { networkContracts } from "../../src/devnet/chain/deploy.ts";
import type { StandInProvider } from "../../src/devnet/provider/provider.ts";
import type { WaitingClock } from "../../src/kernel/clock.ts";
import { createLogger } from "../../src/kernel/log.ts";
import { auditDatabase, requireNoSecret } from "./audit.ts";
import { startNetwork, type TestNetwork } from "./chain/network.ts";
import {
  borrowServerDatabase,
  type DatabaseKind,
  type OnEnd,
  openOwnDatabase,
  openPatiently,
} from "./servers/database.ts";
import { BUSY_MACHINE, newFolder } from "./servers/process.ts";

/** The whole product in one process, with its own chain and provider, listening on a free port. */
export type Stack = {
  readonly app: App;
  readonly server: FastifyInstance;
  readonly origin: string;
  readonly rpcUrl: string;
  readonly provider: StandInProvider;
  /** Every log line so far. */
  readonly logged: () => string;
};

type Settings = Readonly<Record<string, string>>;

/** A hook for every stack once it is started: the peer tests put a router in front. */
export const afterStart: ((stack: Stack, onEnd: OnEnd) => Promise<void>)[] = [];

/**
 * Starts one stack for the tests of a file and ends it after them. Read it inside the tests. `settings` may be a
 * function that starts what they refer to. Its database is any, one of a kind, or in its `folder` on its own thread, as
 * `npm start` has it, or the one at `DATABASE_URL`.
 */
export function useStack(
  settings: Settings | ((onEnd: OnEnd) => Promise<Settings>) = {},
  kind?: DatabaseKind | "folder",
  clock?: WaitingClock,
): () => Stack {
  return useStarted(async (onEnd) => {
    const path = newFolder(onEnd);
    const own = typeof settings === "function" ? await settings(onEnd) : settings;
    const openOwn = () =>
      kind === "folder" ? openDatabase({ kind, path }) : openOwnDatabase(kind, { onEnd });
    const open = own.DATABASE_URL ? undefined : openOwn;
    return startStack(await startNetwork(onEnd), { DATA_DIR: path, ...own }, onEnd, { open, clock });
  });
}

/**
 * Starts one stack that answers requests and runs no background work, so that a test may count its
 * statements.
 */
export function useIdleStack(settings: Settings = {}): () => Stack {
  return useStarted(async (onEnd) => {
    const all = { DATA_DIR: newFolder(onEnd), ...settings };
    const open = () => openOwnDatabase(undefined, { onEnd });
    return startStack(await startNetwork(onEnd), all, onEnd, { open, runs: "nothing" });
  });
}

/**
 * Starts two stacks on one PostgreSQL server and one chain, as two processes would be; the first one is a
 * worker, and the second one if it runs `all`.
 */
export function useTwins(
  settings: Settings = {},
  second: "all" | "requests" = "requests",
): () => readonly [Stack, Stack] {
  return useStarted(async (onEnd) => {
    const [network, url] = await Promise.all([startNetwork(onEnd), borrowServerDatabase(onEnd)]);
    const all = { DATA_DIR: newFolder(onEnd), ...settings };
    const start = (runs: "all" | "requests") =>
      startStack(network, all, onEnd, { open: () => openPatiently(url, 10), runs });
    return [await start("all"), await start(second)] as const;
  });
}

/** Starts something before the tests of a file and ends it after them. Read it inside the tests. */
export function useStarted<T>(start: (onEnd: OnEnd) => Promise<T>): () => T {
  let started: { readonly value: T } | undefined;
  const ends: (() => Promise<void>)[] = [];
  const onEnd = (end: () => Promise<void>) => void ends.unshift(end);
  beforeAll(async () => {
    started = { value: await start(onEnd) };
  });
  afterAll(async () => {
    for (const end of ends) await end();
  });
  return () => {
    if (!started) throw new Error("the stack is started before the tests");
    return started.value;
  };
}

async function startStack(
  { rpcUrl, contracts, provider }: TestNetwork,
  settings: Settings,
  onEnd: OnEnd,
  {
    open,
    runs = "all",
    clock,
  }: {
    readonly open: (() => Promise<Database>) | undefined;
    readonly runs?: "all" | "requests" | "nothing";
    readonly clock?: WaitingClock | undefined;
  },
): Promise<Stack> {
  const config = readConfig({
    NETWORK: "devnet",
    ROUTER_PRIVATE_KEY: ROUTER_WALLET.privateKey,
    LOG_LEVEL: "error",
    ...BUSY_MACHINE,
    ...settings,
  });
  const network = withAddresses(NETWORKS.devnet, {
    rpcUrls: [rpcUrl],
    contracts: networkContracts(contracts),
  });
  const lines: string[] = [];
  const log = createLogger("debug", { write: keepIn(lines) });
  const app = await createApp(config, network, log, open, clock);
  onEnd(async () => {
    await auditDatabase(app.database).finally(() => app.close());
    requireNoSecret(lines.join(""), "the log");
  });
  if (runs !== "nothing") await app.start({ worker: runs === "all" });
  const graph = await openGraph({ kind: "local", app }, app);
  onEnd(() => graph.close());
  const server = await createServer(app, graph);
  onEnd(() => server.close());
  await server.listen({ host: "127.0.0.1", port: 0 });
  const origin = server.listeningOrigin;
  const stack: Stack = { app, server, origin, rpcUrl, provider, logged: () => lines.join("") };
  for (const then of afterStart) await then(stack, onEnd);
  return stack;
}

/** Keeps every log line, and prints those of errors. */
function keepIn(lines: string[]): (line: string) => void {
  return (line) => {
    lines.push(line);
    if (/^{"level":[56]0/.test(line)) process.stderr.write(line);
  };
}
