import { randomBytes } from "node:crypto";
import type { Database } from "../../../src/db/database.ts";
import { systemClock } from "../../../src/kernel/clock.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import { ManagementKeyService } from "../../../src/keys/management-keys/management-key.service.ts";
import { startNetwork, type TestNetwork } from "../../support/chain/network.ts";
import { PATIENT_PROVIDERS } from "../../support/patient-providers.ts";
import { type Seeded, seedAccount } from "../../support/seed.ts";
import { createServerDatabase, type OnEnd, openPatiently } from "../../support/servers/database.ts";
import { type PausableProxy, startPausableProxy } from "../../support/servers/pausable-proxy.ts";
import { freePort } from "../../support/servers/postgres.ts";
import { newFolder, type ReadyProcess, startReady } from "../../support/servers/process.ts";
import { startRedis, type TestRedis } from "../../support/servers/redis.ts";
import { startTraceCollector, type TraceCollector } from "../../support/servers/trace-collector.ts";

/** The product as separate processes over one PostgreSQL and one Redis. */
export type SplitProduct = {
  readonly rpcUrl: string;
  readonly internalSecret: string;
  /** The second secret that subgraphs accept. */
  readonly acceptedSecret: string;
  readonly provider: TestNetwork["provider"];
  readonly redis: TestRedis;
  /** The account that operates it. */
  readonly operator: string;
  /** The endpoint to which all processes send their traces. */
  readonly traces: TraceCollector;
  /** The address of PostgreSQL for all processes; the test has another. */
  readonly postgres: PausableProxy;
  /** The test's own connection to the same database. */
  readonly database: Database;
  readonly gateways: [ReadyProcess, ReadyProcess];
  readonly subgraphs: Map<SubgraphName, ReadyProcess>;
  worker: ReadyProcess;
  /** Starts a subgraph's process on the port that the gateways know. */
  startSubgraph(name: SubgraphName): Promise<void>;
  startWorker(): Promise<void>;
  startGateway(): Promise<ReadyProcess>;
};

/** An account with balance and readable data. */
export type Customer = Seeded & { readonly account: Hex; readonly managementKey: string };

type SubgraphName = (typeof SUBGRAPHS)[number];

const OPERATOR = `0x${"0e".repeat(20)}`;
const SUBGRAPHS = ["accounts", "inference", "storage", "chain"] as const;

/** Starts a worker, four subgraphs and two gateways, side by side. */
export async function startSplitProduct(onEnd: OnEnd): Promise<SplitProduct> {
  const [{ rpcUrl, provider }, redis, url, ...ports] = await Promise.all([
    startNetwork(onEnd),
    startRedis(),
    createServerDatabase(onEnd),
    ...SUBGRAPHS.map(() => freePort()),
  ]);
  onEnd(() => redis.stop());
  const database = await openPatiently(url, 4);
  onEnd(() => database.close());
  const away = new URL(url);
  const postgres = await startPausableProxy(Number(away.port));
  onEnd(() => postgres.close());
  away.port = String(postgres.port);
  const traces = await startTraceCollector(onEnd);
  const internalSecret = randomBytes(24).toString("hex");
  const acceptedSecret = randomBytes(24).toString("hex");
  const places = SUBGRAPHS.map((name, n) => [`${name.toUpperCase()}_URL`, `http://127.0.0.1:${ports[n]}`]);
  const settings = {
    ...PATIENT_PROVIDERS,
    DATABASE_URL: away.href,
    REDIS_URL: redis.url,
    RPC_URL: rpcUrl,
    INTERNAL_SECRET: internalSecret,
    INTERNAL_SECRET_ACCEPTED: acceptedSecret,
    OPERATORS: OPERATOR,
    CATALOGUE_REFRESH_MS: "1000",
    OTEL_EXPORTER_OTLP_ENDPOINT: traces.url,
    DATA_DIR: newFolder(onEnd),
    ...Object.fromEntries(places),
  };
  const start = (...args: string[]) => startReady({ args, settings, onEnd });
  const subgraphs: SplitProduct["subgraphs"] = new Map();
  const startSubgraph = async (name: SubgraphName) => {
    const port = String(ports[SUBGRAPHS.indexOf(name)]);
    const place = {
      args: ["subgraph", name],
      settings: { ...settings, SUBGRAPH_PORT: port, SHARE_PORT: "on" },
    };
    subgraphs.set(name, await startReady({ ...place, onEnd }));
  };
  const [worker, first, second] = await Promise.all([
    start("worker"),
    start("gateway"),
    start("gateway"),
    ...SUBGRAPHS.map(startSubgraph),
  ]);
  const product: SplitProduct = {
    ...{
      rpcUrl,
      provider,
      redis,
      postgres,
      traces,
      internalSecret,
      acceptedSecret,
      operator: OPERATOR,
      database,
      subgraphs,
      worker,
      startSubgraph,
    },
    gateways: [first, second],
    startGateway: () => start("gateway"),
    async startWorker() {
      product.worker = await start("worker");
    },
  };
  return product;
}

/** Opens an account with this balance, an `sk-` key, and an `mk-` key that may read it. */
export async function newCustomer(database: Database, neuron: bigint): Promise<Customer> {
  const seeded = await seedAccount(database, neuron);
  const keys = new ManagementKeyService({ database, clock: systemClock, committed: () => {} });
  const { secret } = await keys.create(seeded.account, "test", ["account:read", "keys:read"]);
  return { ...seeded, account: seeded.account as Hex, managementKey: secret };
}
