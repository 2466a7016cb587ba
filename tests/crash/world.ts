import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Database, Queries } from "../../src/db/database.ts";
import { openDatabase } from "../../src/db/open.ts";
import { seedAccount } from "../support/seed.ts";
import { type OnEnd, openPatiently } from "../support/servers/database.ts";
import { newFolder, type ReadyProcess, startReady } from "../support/servers/process.ts";
import { until } from "../support/until.ts";
import { countOpenWork, readOpenWork } from "./audit.ts";
import { sendOrder } from "./control.ts";
import type { Trip } from "./points.ts";
import { type CrashProviders, startCrashProviders } from "./provider.ts";
import { REACHED } from "./statement-watch.ts";
import { Tripwire } from "./tripwire.ts";

const NEURON = 10n ** 30n;
const PRELOAD = pathToFileURL(resolve("tests/crash/preload.ts")).href;

/** A product with the preload, and its database while it runs. */
export type WatchedProduct = {
  readonly product: ReadyProcess;
  readonly socketPath: string;
  readonly queries: Queries;
};

/** Starts the product with the preload. */
export async function startWatched(
  settings: Readonly<Record<string, string>>,
  onEnd: OnEnd,
  flags?: readonly string[],
): Promise<WatchedProduct> {
  const socketPath = join(newFolder(onEnd), "watch.sock");
  const watched = { NODE_OPTIONS: `--import ${PRELOAD}`, CRASH_SOCKET: socketPath };
  const product = await startReady({ settings: { ...settings, ...watched }, ...(flags && { flags }), onEnd });
  const queries: Queries = {
    rows: (sql, parameters = []) => sendOrder(socketPath, { sql, parameters }),
  };
  return { product, socketPath, queries };
}

/** Waits until no hold and no job of an earlier process is open. Throws what the product logged if some stay. */
export async function recovered({ product, queries, socketPath }: WatchedProduct): Promise<void> {
  try {
    await until(async () => (await countOpenWork(queries)) === 0);
  } catch (cause) {
    const open = JSON.stringify(await readOpenWork(queries));
    throw new Error(`holds or jobs stay open: ${open}\n${product.stderr()}`, { cause });
  }
  await sendOrder(socketPath, { recovered: true });
}

/** One database, its providers, and the product that is killed and started again on it. */
export type CrashWorld = {
  readonly secret: string;
  readonly tripwire: Tripwire;
  readonly providers: CrashProviders;
  /** Reads the database while the product runs on it. */
  readonly queries: Queries;
  /** The settings of the product, for its other programs. */
  readonly settings: Readonly<Record<string, string>>;
  /** The running product, or the last one. */
  readonly product: () => ReadyProcess;
  /** Starts the product on what the last one left, and waits until it has ended every hold and job of that. */
  start(): Promise<void>;
  /** Arms the kill of the running product. */
  arm(trip: Trip): Promise<void>;
  /** Waits until the product was killed; throws if it ended otherwise. */
  killed(trip: Trip): Promise<void>;
};

/** Where the data is: in a folder (PGlite), or in a new database of a PostgreSQL server. */
export type CrashDatabase = { readonly name: string; readonly serverUrl?: string };

/** Prepares a world without starting the product. */
export async function openCrashWorld(
  { serverUrl }: CrashDatabase,
  rpcUrl: string,
  onEnd: OnEnd,
): Promise<CrashWorld> {
  const folder = newFolder(onEnd);
  const tripwire = new Tripwire();
  const providers = await startCrashProviders(tripwire, onEnd);
  const providersFile = join(folder, "providers.json");
  writeFileSync(providersFile, providers.file);
  const { database, settings: stored } = await openStored(folder, serverUrl, onEnd);
  const { secret } = await seedAccount(database, NEURON);
  if (serverUrl === undefined) await database.close();
  const settings = {
    ...{ ...stored, RPC_URL: rpcUrl, PROVIDERS_FILE: providersFile, LOG_LEVEL: "error" },
  };
  let current: WatchedProduct | undefined;
  const running = () => current ?? missing();
  const remote: Queries = { rows: (sql, parameters) => running().queries.rows(sql, parameters) };
  return {
    ...{ secret, tripwire, providers, settings, product: () => running().product },
    queries: serverUrl === undefined ? remote : database,
    async start() {
      current = await startWatched(settings, onEnd);
      await recovered(current);
    },
    async arm(trip) {
      const { product, socketPath } = running();
      if ("notice" in trip) tripwire.arm(trip, () => void product.end("SIGKILL"));
      else await sendOrder(socketPath, { arm: trip });
    },
    async killed(trip) {
      const { ended, stderr } = running().product;
      const { signal } = await ended;
      tripwire.disarm();
      const isReached = "notice" in trip || stderr().includes(REACHED);
      if (signal !== "SIGKILL" || !isReached)
        throw new Error(`the product ended by ${signal} and not at its point:\n${stderr()}`);
    },
  };
}

async function openStored(folder: string, serverUrl: string | undefined, onEnd: OnEnd) {
  const settings = { DATA_DIR: folder, ...(serverUrl !== undefined && { DATABASE_URL: serverUrl }) };
  if (serverUrl === undefined)
    return { settings, database: await openDatabase({ kind: "folder", path: folder }) };
  const database: Database = await openPatiently(serverUrl, 2);
  onEnd(() => database.close());
  return { settings, database };
}

function missing(): never {
  throw new Error("the product was not started");
}
