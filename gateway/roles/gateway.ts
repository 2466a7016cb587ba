import type { App } from "../../src/app.ts";
import type { Config } from "../../src/config.ts";
import { type Demo, removeStatus, toBanner, toStatus, writeStatus } from "../cli/welcome.ts";
import { openGraph, type SubgraphPlaces } from "../federation/graph.ts";
import { listenAt, requireFreePort } from "../listen.ts";
import type { DevelopmentWallet } from "../pages/dashboard.plugin.ts";
import { processNumber } from "../processes.ts";
import { createServer } from "../server.ts";
import { onKnownNetwork, openApp } from "./open-app.ts";
import { requireFolders } from "./required-folders.ts";
import { requireSettings } from "./required-settings.ts";
import type { Ends, Start } from "./start.ts";

/** A process that serves REST and GraphQL over subgraphs that run as separate processes. */
export async function startGateway(start: Start): Promise<void> {
  const { config, log, ends } = start;
  const names = ["INTERNAL_SECRET", "ACCOUNTS_URL", "INFERENCE_URL", "STORAGE_URL", "CHAIN_URL"] as const;
  const known = requireSettings("gateway", config, names);
  await requireFreePort(placeOf(config));
  requireFolders(config, ["files"], log);
  const app = await openApp(await onKnownNetwork(config), start);
  await app.start({ worker: false });
  const urls = {
    accounts: known.ACCOUNTS_URL,
    inference: known.INFERENCE_URL,
    storage: known.STORAGE_URL,
    chain: known.CHAIN_URL,
  };
  await serve(app, { kind: "remote", urls, secret: known.INTERNAL_SECRET }, ends);
}

/** What a development network shows: the keys of its demo in the banner, and its wallet on the dashboard. */
export type Shown = { readonly demo?: Demo; readonly wallet?: DevelopmentWallet };

/** Starts the server and prints its addresses. */
export async function serve(
  app: App,
  places: SubgraphPlaces,
  ends: Ends,
  { demo, wallet }: Shown = {},
): Promise<void> {
  const { config } = app;
  const graph = await openGraph(places, app);
  ends.unshift(() => graph.close());
  graph.warmUp();
  const server = await createServer(app, graph, wallet);
  ends.unshift(() => server.close());
  await listenAt(server, placeOf(config));
  if (processNumber > 0) return;
  const status = toStatus({ network: config.NETWORK, origin: server.listeningOrigin, ...(demo && { demo }) });
  if (places.kind === "local") {
    writeStatus(config.DATA_DIR, status);
    ends.unshift(async () => removeStatus(config.DATA_DIR));
  }
  console.log(toBanner(status));
}

/** The address a gateway listens on. */
export function placeOf({ HOST: host, PORT: port, SHARE_PORT }: Config) {
  return { host, port, setting: "PORT", isShared: SHARE_PORT === "on" } as const;
}
