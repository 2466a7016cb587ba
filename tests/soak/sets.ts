import { randomBytes } from "node:crypto";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createClient } from "redis";
import type { Database, Queries } from "../../src/db/database.ts";
import { openDatabase } from "../../src/db/open.ts";
import { startCrashProviders } from "../crash/provider.ts";
import { Tripwire } from "../crash/tripwire.ts";
import { startWatched } from "../crash/world.ts";
import { type Customer, newCustomer } from "../process/split/split-product.ts";
import { startNetwork } from "../support/chain/network.ts";
import { type OnEnd, openPatiently } from "../support/servers/database.ts";
import { freePort, launchPostgres, preparePostgres } from "../support/servers/postgres.ts";
import { newFolder, type ReadyProcess, startReady } from "../support/servers/process.ts";
import { startRedis } from "../support/servers/redis.ts";

/** A process that is observed: of the product, then with the address of its metrics, or a server that it needs. */
export type Member = {
  readonly name: string;
  readonly pid: number;
  readonly metrics?: string;
  /** The address of its debugging protocol. */
  readonly inspector?: string;
};

/** A running product, in one process or in several, with customers. */
export type SoakedSet = {
  readonly name: string;
  readonly origin: string;
  readonly rpcUrl: string;
  readonly customers: readonly Customer[];
  readonly members: readonly Member[];
  /** Reads the database while the product runs on it. */
  readonly queries: Queries;
  readonly folders: { readonly data: string; readonly wal: string; readonly stored: string };
  readonly maxWalBytes: number;
  /** The settings of the product, for its other programs. */
  readonly settings: Readonly<Record<string, string>>;
  /** Ends the processes of the product, and no server. */
  stop(): Promise<void>;
};

const CUSTOMERS = 40;
const NEURON = 10n ** 30n;
const MIB = 1_048_576;
/** What docs/operations.md promises for the embedded database. */
const MAX_EMBEDDED_WAL_BYTES = 128 * MIB;
const SERVER_WAL_MIB = 256;
const SUBGRAPHS = ["accounts", "inference", "storage", "chain"] as const;
/** Without those for processes that live for seconds. */
const FLAGS = ["--inspect=127.0.0.1:0"];

/** One process with the embedded database. */
export async function startOneProcess(onEnd: OnEnd): Promise<SoakedSet> {
  const folder = newFolder(onEnd);
  const { rpcUrl, settings } = await commonSettings(folder, onEnd);
  const database = await openDatabase({ kind: "folder", path: folder });
  const customers = await newCustomers(database);
  await database.close();
  const { product, queries } = await startWatched(settings, onEnd, FLAGS);
  const data = join(folder, "postgres");
  return {
    ...{ name: "PGlite", origin: product.origin, rpcUrl, customers, queries, settings },
    members: [memberOf("product", product)],
    folders: { data, wal: join(data, "pg_wal"), stored: join(folder, "storage") },
    maxWalBytes: MAX_EMBEDDED_WAL_BYTES,
    stop: async () => void (await product.end("SIGTERM")),
  };
}

/** A gateway, four subgraphs and a worker over PostgreSQL, with every commit on the disk, and Redis. */
export async function startSplitSet(onEnd: OnEnd): Promise<SoakedSet> {
  const folder = newFolder(onEnd);
  const common = await commonSettings(folder, onEnd);
  const files = await preparePostgres();
  const server = await launchPostgres(files, files.data, await freePort(), {
    ...{ fsync: "on", max_wal_size: `${SERVER_WAL_MIB}MB` },
  });
  onEnd(async () => {
    await server.end("SIGINT");
    rmSync(files.home, { recursive: true, force: true });
  });
  const redis = await startRedis();
  onEnd(() => redis.stop());
  const database = await openPatiently(server.url, 2);
  onEnd(() => database.close());
  const customers = await newCustomers(database);
  const ports = await Promise.all(SUBGRAPHS.map(() => freePort()));
  const settings = {
    ...common.settings,
    ...{ DATABASE_URL: server.url, REDIS_URL: redis.url, INTERNAL_SECRET: randomBytes(24).toString("hex") },
    ...Object.fromEntries(SUBGRAPHS.map((name, n) => [`${name.toUpperCase()}_URL`, localUrl(ports[n])])),
  };
  const start = (args: readonly string[], more = {}) =>
    startReady({ args, settings: { ...settings, ...more }, flags: FLAGS, onEnd });
  const [gateway, worker, ...subgraphs] = await Promise.all([
    start(["gateway"]),
    start(["worker"]),
    ...SUBGRAPHS.map((name, n) => start(["subgraph", name], { SUBGRAPH_PORT: String(ports[n]) })),
  ]);
  const processes = [gateway, worker, ...subgraphs];
  const names = ["gateway", "worker", ...SUBGRAPHS.map((name) => `subgraph ${name}`)];
  return {
    ...{
      name: "Split set",
      origin: gateway.origin,
      rpcUrl: common.rpcUrl,
      customers,
      queries: database,
      settings,
    },
    members: [
      ...processes.map((process, n) => memberOf(names[n] ?? "", process)),
      { name: "Redis", pid: await redisPid(redis.url) },
      {
        name: "PostgreSQL",
        pid: Number(readFileSync(join(files.data, "postmaster.pid"), "utf8").split("\n")[0]),
      },
    ],
    folders: { data: files.data, wal: join(files.data, "pg_wal"), stored: join(folder, "storage") },
    // A checkpoint begins before the limit and may end after it.
    maxWalBytes: 1.5 * SERVER_WAL_MIB * MIB,
    async stop() {
      await Promise.all(processes.map((process) => process.end("SIGTERM")));
    },
  };
}

async function commonSettings(folder: string, onEnd: OnEnd) {
  const { rpcUrl } = await startNetwork(onEnd);
  const providers = await startCrashProviders(new Tripwire(), onEnd);
  const providersFile = join(folder, "providers.json");
  writeFileSync(providersFile, providers.file);
  const settings: Readonly<Record<string, string>> = {
    ...{
      DATA_DIR: folder,
      RPC_URL: rpcUrl,
      PROVIDERS_FILE: providersFile,
      LOG_LEVEL: "warn",
      METRICS_PORT: "0",
    },
  };
  return { rpcUrl, settings };
}

async function newCustomers(database: Database): Promise<readonly Customer[]> {
  const customers: Customer[] = [];
  for (let n = 0; n < CUSTOMERS; n++) customers.push(await newCustomer(database, NEURON));
  return customers;
}

function memberOf(name: string, { pid, stdout, stderr }: ReadyProcess): Member {
  const metrics = /metrics ready at (\S+)/.exec(stdout())?.[1];
  const inspector = /Debugger listening on (ws:\S+)/.exec(stderr())?.[1];
  if (!metrics || !inspector) throw new Error(`${name} does not print its addresses: ${stdout()}${stderr()}`);
  return { name, pid, metrics, inspector };
}

async function redisPid(url: string): Promise<number> {
  const client = createClient({ url });
  await client.connect();
  const info = await client.info("server");
  client.destroy();
  return Number(/process_id:(\d+)/.exec(info)?.[1]);
}

function localUrl(port: number | undefined): string {
  return `http://127.0.0.1:${port}`;
}
