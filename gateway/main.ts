import { setDefaultResultOrder } from "node:dns";
import { join } from "node:path";
import closeWithGrace from "close-with-grace";
import { type App, createApp, databaseOf } from "../src/app.ts";
import { NETWORKS, withAddresses } from "../src/chain/networks.ts";
import { type Config, readConfig } from "../src/config.ts";
import type { Database } from "../src/db/database.ts";
import { lockFolder } from "../src/db/lock.ts";
import { openDatabase } from "../src/db/open.ts";
import type { Devnet } from "../src/devnet/devnet.ts";
import { StartupError } from "../src/kernel/errors.ts";
import { createLogger, type Logger } from "../src/kernel/log.ts";
import { startTraces } from "../src/metrics/trace-export.ts";
import { createSubgraphServer } from "../subgraphs/serve.ts";
import type { DevelopmentWallet } from "./dashboard.plugin.ts";
import { openGraph, type SubgraphPlaces } from "./graph.ts";
import { listenAt } from "./listen.ts";
import { startMetrics } from "./metrics.ts";
import { needsOf, type RoleNeeds } from "./role-needs.ts";
import { runOrExplain } from "./run-or-explain.ts";
import { createServer } from "./server.ts";
import { removeStatus, toBanner, toStatus, writeStatus } from "./welcome.ts";

/**
 * Starts a process: `all` (everything in one, the default), `gateway`, `subgraph NAME` or `worker`. Only this file may
 * load the development network, and only `all` on NETWORK=devnet without an RPC_URL starts it.
 */
const ROLES = ["all", "gateway", "subgraph", "worker"] as const;
const SHUTDOWN_MS = 45_000;

/** What was started, newest first: it is ended in this order. */
type Ends = (() => Promise<unknown>)[];

await runOrExplain(async () => {
  setDefaultResultOrder("ipv4first");
  const [role = "all", name = ""] = process.argv.slice(2);
  if (!(ROLES as readonly string[]).includes(role))
    throw new StartupError(`There is no role ${role}: ${ROLES.join(", ")}.`);
  const config = readConfig();
  const log = createLogger(config.LOG_LEVEL);
  const ends: Ends = [];
  const endTraces = await startTraces(config, serviceName(role, name));
  // Begun first, it ends last.
  if (endTraces) ends.unshift(endTraces);
  try {
    await start(role as (typeof ROLES)[number], name, config, log, ends);
  } catch (error) {
    await endAll(ends);
    throw error;
  }
  closeWithGrace({ delay: SHUTDOWN_MS, logger: false }, async ({ err }) => {
    if (err) log.error({ err }, "the process ends because of an error");
    await endAll(ends);
  });
});

async function start(
  role: (typeof ROLES)[number],
  name: string,
  config: Config,
  log: Logger,
  ends: Ends,
): Promise<void> {
  if (role === "all") return startAll(config, log, ends);
  const needs = needsOf(role, name, config);
  const app = await openApp(await knownConfig(config), log, ends);
  await app.start({ worker: role === "worker" });
  if (needs.role === "gateway") await startGateway(app, needs.places, ends);
  else if (needs.role === "subgraph") await startSubgraph(app, needs, ends);
  else console.log("worker ready");
}

async function startAll(config: Config, log: Logger, ends: Ends): Promise<void> {
  if (config.NETWORK !== "devnet" || config.RPC_URL) {
    const app = await openApp(await knownConfig(config), log, ends);
    await app.start({ worker: true });
    await startGateway(app, { kind: "local", app }, ends);
    return;
  }
  const { startDevnet } = await import("../src/devnet/devnet.ts");
  const { DEVNET_MODEL } = await import("../src/devnet/offers.ts");
  // Taken before anything is opened, and let go when the chain has written its last: two of them share no file.
  const folder = join(config.DATA_DIR, "devnet");
  const lock = lockFolder(folder);
  ends.unshift(async () => lock.release());
  const database = await openDatabase(databaseOf(config));
  const devnet = await startDevnet({ folder, log }).catch(async (error: unknown) => {
    await database.close();
    throw error;
  });
  ends.unshift(() => devnet.stop());
  const app = await openApp(onDevnet(config, devnet), log, ends, async () => database);
  await app.start({ worker: true });
  const { prepareDemo } = await import("../src/devnet/demo.ts");
  const { openDemoWallet } = await import("../src/devnet/wallet.ts");
  const keys = await prepareDemo(app, devnet, config.DATA_DIR);
  const wallet = await openDemoWallet(devnet.rpcUrl);
  await startGateway(app, { kind: "local", app }, ends, { ...keys, model: DEVNET_MODEL, wallet });
}

/** A process that joins a network which runs already; on devnet its addresses follow from the code. */
async function knownConfig(config: Config): Promise<Placed> {
  if (config.NETWORK !== "devnet") return { config, network: NETWORKS[config.NETWORK] };
  const { knownDevnet } = await import("../src/devnet/devnet.ts");
  return onDevnet(config, { ...knownDevnet(), rpcUrls: config.RPC_URL ?? [] });
}

type Placed = { readonly config: Config; readonly network: App["network"] };

function onDevnet(
  config: Config,
  known: Pick<Devnet, "networkContracts" | "routerKey"> &
    ({ readonly rpcUrl: string } | { readonly rpcUrls: readonly string[] }),
): Placed {
  const { networkContracts: contracts, routerKey } = known;
  const network = withAddresses(NETWORKS.devnet, {
    rpcUrls: "rpcUrls" in known ? known.rpcUrls : [known.rpcUrl],
    contracts,
  });
  return { config: { ...config, ROUTER_PRIVATE_KEY: config.ROUTER_PRIVATE_KEY ?? routerKey }, network };
}

async function openApp(
  { config, network }: Placed,
  log: Logger,
  ends: Ends,
  open?: () => Promise<Database>,
): Promise<App> {
  const app = await createApp(config, network, log, open);
  ends.unshift(() => app.close());
  if (app.metrics && config.METRICS_PORT !== undefined) {
    const metrics = await startMetrics(app, app.metrics, config.METRICS_PORT);
    ends.unshift(() => metrics.close());
    console.log(`metrics ready at ${metrics.origin}/metrics`);
  }
  return app;
}

async function startGateway(
  app: App,
  places: SubgraphPlaces,
  ends: Ends,
  demo?: { apiKey: string; managementKey: string; model: string; wallet: DevelopmentWallet },
): Promise<void> {
  const { config } = app;
  const graph = await openGraph(places, app);
  ends.unshift(() => graph.close());
  const server = await createServer(app, graph, demo?.wallet);
  ends.unshift(() => server.close());
  const isShared = config.SHARE_PORT === "on";
  await listenAt(server, { host: config.HOST, port: config.PORT, setting: "PORT", isShared });
  const status = toStatus({ network: config.NETWORK, origin: server.listeningOrigin, ...(demo && { demo }) });
  if (places.kind === "local") {
    writeStatus(config.DATA_DIR, status);
    ends.unshift(async () => removeStatus(config.DATA_DIR));
  }
  console.log(toBanner(status));
}

async function startSubgraph(
  app: App,
  { module, secret }: Extract<RoleNeeds, { role: "subgraph" }>,
  ends: Ends,
): Promise<void> {
  const server = await createSubgraphServer(app, module.build(), secret);
  ends.unshift(() => server.close());
  const { HOST: host, SUBGRAPH_PORT: port, SHARE_PORT } = app.config;
  await listenAt(server, { host, port, setting: "SUBGRAPH_PORT", isShared: SHARE_PORT === "on" });
  console.log(`subgraph ${module.name} ready at ${server.listeningOrigin}/graphql`);
}

function serviceName(role: string, name: string): string {
  return ["zerograph", role === "all" ? "" : role, name].filter((word) => word !== "").join("-");
}

async function endAll(ends: Ends): Promise<void> {
  for (const end of ends.splice(0)) await end().catch((error: unknown) => console.error(error));
}
