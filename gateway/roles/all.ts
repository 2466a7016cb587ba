import { join } from "node:path";
import { databaseOf } from "../../src/app-connections.ts";
import type { Config } from "../../src/config.ts";
import { lockFolder } from "../../src/db/embedded/lock.ts";
import { openDatabase } from "../../src/db/open.ts";
import { requireFreePort } from "../listen.ts";
import { placeOf, type Shown, serve } from "./gateway.ts";
import { onDevnet, onKnownNetwork, openApp } from "./open-app.ts";
import { requireFiles } from "./required-files.ts";
import { requireFolders } from "./required-folders.ts";
import type { Start } from "./start.ts";

const FOLDERS = ["data", "files", "archives"] as const;

/** Everything in one process. On NETWORK=devnet without an RPC_URL it also runs the network. */
export async function startAll(start: Start): Promise<void> {
  const { config, log, ends } = start;
  await requireFreePort(placeOf(config));
  await requireFiles(config);
  if (config.NETWORK === "devnet" && !config.RPC_URL) return startWithDevnet(start);
  requireFolders(config, FOLDERS, log);
  const app = await openApp(await onKnownNetwork(config), start);
  await app.start({ worker: true });
  await serve(app, { kind: "local", app }, ends, await joinedDevnet(config));
}

/** The development wallet of a network that another process runs; its keys are not known here. */
async function joinedDevnet({ NETWORK, RPC_URL: [rpcUrl] = [] }: Config): Promise<Shown> {
  if (NETWORK !== "devnet" || rpcUrl === undefined) return {};
  const { openDemoWallet } = await import("../../src/devnet/chain/wallet.ts");
  return { wallet: await openDemoWallet(rpcUrl) };
}

/** The only function that loads the whole development network. */
async function startWithDevnet(start: Start): Promise<void> {
  const { config, log, ends } = start;
  const { startDevnet } = await import("../../src/devnet/devnet.ts");
  const { findAnvil } = await import("../../src/devnet/chain/anvil.ts");
  const { DEVNET_MODEL } = await import("../../src/devnet/provider/offers.ts");
  // A start that is refused for the lack of it has created nothing.
  findAnvil();
  requireFolders(config, FOLDERS, log);
  // Locked before anything is opened, released after the chain's last write: two devnets never share a file.
  const folder = join(config.DATA_DIR, "devnet");
  const lock = lockFolder(folder);
  ends.unshift(async () => lock.release());
  const database = await openDatabase(databaseOf(config, { log }));
  const devnet = await startDevnet({ folder, log }).catch(async (error: unknown) => {
    await database.close();
    throw error;
  });
  ends.unshift(() => devnet.stop());
  const placed = onDevnet(config, { ...devnet, rpcUrls: [devnet.rpcUrl] });
  const app = await openApp(placed, start, async () => database);
  await app.start({ worker: true });
  const { prepareDemo } = await import("../../src/devnet/demo.ts");
  const { openDemoWallet } = await import("../../src/devnet/chain/wallet.ts");
  const keys = await prepareDemo(app, devnet, config.DATA_DIR);
  const wallet = await openDemoWallet(devnet.rpcUrl);
  const chain = { rpcUrl: devnet.rpcUrl, id: app.network.chainId };
  await serve(app, { kind: "local", app }, ends, { wallet, demo: { ...keys, model: DEVNET_MODEL, chain } });
}
