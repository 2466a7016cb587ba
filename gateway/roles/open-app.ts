import { type App, createApp } from "../../src/app.ts";
import { NETWORKS, withAddresses } from "../../src/chain/networks.ts";
import type { Config } from "../../src/config.ts";
import type { Database } from "../../src/db/database.ts";
import type { Devnet } from "../../src/devnet/devnet.ts";
import { startMetrics } from "../http/metrics.ts";
import type { Start } from "./start.ts";

/** The settings of a process, and its network. */
export type Placed = { readonly config: Config; readonly network: App["network"] };

/** Config and network for a process that joins a running network; devnet addresses are derived from the code. */
export async function onKnownNetwork(config: Config): Promise<Placed> {
  if (config.NETWORK !== "devnet") return { config, network: NETWORKS[config.NETWORK] };
  const { knownDevnet } = await import("../../src/devnet/devnet.ts");
  return onDevnet(config, { ...knownDevnet(), rpcUrls: config.RPC_URL ?? [] });
}

/** Config and network for a process on a development network at these addresses. */
export function onDevnet(
  config: Config,
  { networkContracts: contracts, routerKey, rpcUrls }: KnownDevnet,
): Placed {
  const network = withAddresses(NETWORKS.devnet, { rpcUrls, contracts });
  return { config: { ...config, ROUTER_PRIVATE_KEY: config.ROUTER_PRIVATE_KEY ?? routerKey }, network };
}

type KnownDevnet = Pick<Devnet, "networkContracts" | "routerKey"> & { readonly rpcUrls: readonly string[] };

/** Creates the services, and serves their metrics on METRICS_PORT if it is set. Both end with the process. */
export async function openApp(
  { config, network }: Placed,
  { log, ends, phase }: Pick<Start, "log" | "ends" | "phase">,
  open?: () => Promise<Database>,
): Promise<App> {
  const app = await createApp(config, network, log, open);
  ends.unshift(() => app.close());
  await app.chain.requireContracts();
  if (app.metrics && config.METRICS_PORT !== undefined) {
    const metrics = await startMetrics(app, app.metrics, {
      ...{ host: config.METRICS_HOST, port: config.METRICS_PORT, phase },
    });
    ends.unshift(() => metrics.close());
    console.log(`metrics ready at ${metrics.origin}/metrics`);
  }
  return app;
}
