import { type AccountServices, createAccountModule } from "./accounts/module.ts";
import type { AppContext } from "./app-context.ts";
import { type ChainServices, createChainModule } from "./chain/module.ts";
import type { Network } from "./chain/networks.ts";
import { createRpc, type Rpc } from "./chain/rpc/rpc.client.ts";
import { rpcUrlsOf } from "./chain/rpc/rpc-urls.ts";
import { type Config, readVariable } from "./config.ts";
import type { Database } from "./db/database.ts";
import { readDeploymentSecret } from "./db/deployment-secret.ts";
import { EmbeddedMaintenance } from "./db/embedded/maintenance.runner.ts";
import { openDatabase } from "./db/open.ts";
import { MemoryBus } from "./events/bus.memory.ts";
import type { Bus } from "./events/bus.ts";
import { EventCursors } from "./events/event-cursors.ts";
import { EventsService } from "./events/events.service.ts";
import { KEPT_HOURS } from "./events/outbox.ts";
import { redisAddress } from "./events/redis-address.ts";
import type { RedisConnection } from "./events/redis-connection.ts";
import { EventRelay } from "./events/relay.ts";
import { IdempotencyService } from "./idempotency/idempotency.service.ts";
import { RunningClaims } from "./idempotency/running-claims.ts";
import { createInferenceModule, type InferenceServices, requestSeconds } from "./inference/module.ts";
import { readJobQueue } from "./jobs/job-queue.store.ts";
import { systemClock, type WaitingClock } from "./kernel/clock.ts";
import { StartupError } from "./kernel/errors.ts";
import type { Logger } from "./kernel/log.ts";
import type { Hex } from "./kernel/text/hex.ts";
import { createKeyModule, type KeyServices } from "./keys/module.ts";
import { createLoadModule, type LoadServices } from "./load/module.ts";
import { cachedRead } from "./metrics/cached-read.ts";
import { Metrics } from "./metrics/metrics.ts";
import { NotReadyError, type Readiness, readinessOf } from "./metrics/readiness.ts";
import { createOperationModule, type OperationServices } from "./operations/module.ts";
import type { ProcessRole } from "./operations/process-report.ts";
import { createReceiptModule } from "./receipts/module.ts";
import { openReceiptKey, type ReceiptKey } from "./receipts/receipt-key.ts";
import type { ReceiptsService } from "./receipts/receipts.service.ts";
import { createStorageModule, type StorageServices } from "./storage/module.ts";
import { oldestWaitingSeconds } from "./webhooks/delivery-queue.store.ts";
import { createWebhookModule } from "./webhooks/module.ts";
import type { WebhooksService } from "./webhooks/webhooks.service.ts";

/** How long a scrape may answer from an earlier read. */
const JOBS_READ_MS = 5_000;
const BALANCE_READ_MS = 30_000;

/** Every service of the product, as the REST and GraphQL APIs use them. */
export type App = KeyServices &
  AccountServices &
  InferenceServices &
  StorageServices &
  ChainServices &
  LoadServices &
  OperationServices & {
    readonly config: Config;
    readonly network: Network;
    readonly log: Logger;
    readonly database: Database;
    readonly events: EventsService;
    readonly idempotency: IdempotencyService;
    readonly receipts: ReceiptsService;
    readonly webhooks: WebhooksService;
    /** The metrics of this process; undefined without METRICS_PORT. */
    readonly metrics: Metrics | undefined;
    /** Whether this process can serve requests, and which of its dependencies fail. */
    readiness(): Promise<Readiness>;
    /** Starts the work of this process: publishing events and reading providers; a worker also watches the chain. */
    start(role: { readonly worker: boolean; readonly name?: ProcessRole }): Promise<void>;
    /** Waits until the requests in flight are billed, stops all work and closes every connection. */
    close(): Promise<void>;
  };

/**
 * Creates the modules by hand, in the order of their dependencies. It never listens. `open` opens the database and
 * replaces the one that the configuration names; `clock` replaces the system's.
 */
export async function createApp(
  config: Config,
  network: Network,
  log: Logger,
  open: () => Promise<Database> = () => openDatabase(databaseOf(config)),
  clock: WaitingClock = systemClock,
): Promise<App> {
  const urls = rpcUrlsOf(config, network, log);
  const rpc = createRpc({ urls, network: config.NETWORK, chainId: network.chainId, log });
  await rpc.verifyChain().catch((error: Error) => {
    throw new StartupError(error.message, { cause: error });
  });
  const database = await open();
  try {
    const { bus, redis } = config.REDIS_URL
      ? await openOnRedis(config.REDIS_URL, config, log)
      : { bus: new MemoryBus() };
    const { secret, createdAt } = await readDeploymentSecret(database, "event cursors");
    const cursors = new EventCursors(secret, new Date(createdAt.getTime() + KEPT_HOURS * 3_600_000));
    const receiptKey = await openReceiptKey(database, config.RECEIPT_KEY);
    const webhookSecret = (await readDeploymentSecret(database, "webhooks")).secret;
    const filesSecret = (await readDeploymentSecret(database, "files")).secret;
    return wire({
      ...{ config, network, log, clock, rpc, database, bus, redis, cursors, receiptKey },
      ...{ webhookSecret, filesSecret },
    });
  } catch (error) {
    await database.close();
    throw error;
  }
}

function wire(dependencies: {
  config: Config;
  network: Network;
  log: Logger;
  clock: WaitingClock;
  rpc: Rpc;
  database: Database;
  bus: Bus;
  redis: RedisConnection | undefined;
  cursors: EventCursors;
  receiptKey: ReceiptKey;
  webhookSecret: string;
  filesSecret: string;
}): App {
  const { config, network, log, clock, rpc, database, bus, redis, cursors, receiptKey } = dependencies;
  const relay = new EventRelay(database, bus, log);
  const maintenance =
    database.folder === undefined ? undefined : new EmbeddedMaintenance(database, database.folder, log);
  const committed = () => relay.nudge();
  const events = new EventsService(database, bus, cursors);
  const parts: AppContext = {
    config,
    network,
    log,
    clock,
    rpc,
    database,
    bus,
    events,
    committed,
  };
  const metrics = config.METRICS_PORT === undefined ? undefined : new Metrics();
  const claims = new RunningClaims();
  const chain = createChainModule(parts);
  const storage = createStorageModule(parts, chain);
  const keys = createKeyModule(parts, redis);
  const accounts = createAccountModule(parts, chain, { claims, observer: metrics });
  const load = createLoadModule(config, keys.services.trustedProxies, metrics);
  const inference = createInferenceModule(parts, {
    holds: accounts.services.holds,
    apiKeys: keys.services.apiKeys,
    uploads: storage.services.uploads,
    load: load.load,
    filesSecret: dependencies.filesSecret,
    observer: metrics,
    variable: readVariable,
  });
  const receipts = createReceiptModule(parts, {
    key: receiptKey,
    signatureOf: (account, requestId) => inference.services.evidence.signatureOf(account, requestId),
  });
  const webhooks = createWebhookModule(parts, { secret: dependencies.webhookSecret, observer: metrics });
  const operations = createOperationModule(parts, {
    holds: accounts.services.holds,
    webhooks: webhooks.webhooks,
    inference: inference.services,
  });
  const idempotency = new IdempotencyService({
    queries: database,
    lease: accounts.services.holds,
    claims,
    log,
    deadlineSeconds: requestSeconds(config),
  });
  const services = {
    ...keys.services,
    ...accounts.services,
    ...inference.services,
    ...storage.services,
    ...chain.services,
    ...load,
    ...operations.services,
  };
  metrics?.sample({ ...samplesOf(services, database, relay, events), ...dependenciesOf(parts) });
  return {
    ...{ config, network, log, database, events, idempotency, metrics, receipts: receipts.receipts },
    webhooks: webhooks.webhooks,
    ...services,
    readiness: () => readinessOf(checksOf(services, database, bus, relay)),
    async start({ worker, name = worker ? "all" : "gateway" }) {
      relay.start();
      maintenance?.start();
      await inference.start();
      operations.start(name);
      if (!worker) return;
      idempotency.start();
      for (const module of [accounts, keys, inference, chain, storage, receipts, webhooks])
        module.startWork?.();
    },
    async close() {
      // Requests in flight are billed first; their events are published last.
      await inference.stop();
      await idempotency.stop();
      await operations.stop();
      await Promise.all([accounts, keys, chain, storage, receipts, webhooks].map((module) => module.stop()));
      await relay.stop();
      await maintenance?.stop();
      await bus.close();
      if (redis?.isOpen) await redis.destroy();
      await database.close();
    },
  };
}

type Samples = Parameters<Metrics["sample"]>[0];

/** The gauges of what the process depends on. What is shared or remote is read seldom, however often it is scraped. */
function dependenciesOf({ config, database, bus, rpc }: AppContext) {
  const key = config.ROUTER_PRIVATE_KEY;
  const readBalance = async () => {
    const { privateKeyToAddress } = await import("viem/accounts");
    return rpc.client.getBalance({ address: privateKeyToAddress(key as Hex) });
  };
  const ping = async () =>
    bus.newestPosition().then(
      () => true,
      () => false,
    );
  return {
    jobs: cachedRead(() => readJobQueue(database), JOBS_READ_MS),
    webhookLagSeconds: cachedRead(() => oldestWaitingSeconds(database), JOBS_READ_MS),
    databasePool: () => database.connections(),
    redis: config.REDIS_URL ? cachedRead(ping, JOBS_READ_MS) : undefined,
    walletBalance: key ? cachedRead(readBalance, BALANCE_READ_MS) : undefined,
  };
}

type Services = Pick<App, "holds" | "chain" | "catalogue" | "health" | "load">;

/** The gauges that are read when metrics are scraped. */
function samplesOf(
  { holds, chain, catalogue, health, load }: Services,
  database: Database,
  relay: EventRelay,
  events: EventsService,
): Omit<Samples, keyof ReturnType<typeof dependenciesOf>> {
  return {
    holdsOpen: () => holds.open(),
    relayLagSeconds: () => relay.lagSeconds(),
    takenPositions: () => relay.takenPositions,
    replicaLagSeconds: () => database.replica?.lagSeconds,
    eventStreamsOpen: () => events.openStreams,
    requestMemoryBytes: () => load.memory.usedBytes,
    eventLoopDelaySeconds: () => load.monitor.delayP99Ms / 1_000,
    watcherLags: async () =>
      [...(await chain.watchers())].flatMap(([watcher, { lagBlocks }]) =>
        lagBlocks === undefined ? [] : [{ watcher, blocks: Number(lagBlocks) }],
      ),
    circuits: () =>
      catalogue
        .providers()
        .map((provider) => ({ provider: provider.address, state: health.of(provider).circuit })),
  };
}

/** The readiness checks of this process: those that it requires, and those that it only reports. */
function checksOf(
  { catalogue, chain }: Services,
  database: Database,
  bus: Bus,
  relay: EventRelay,
): Parameters<typeof readinessOf>[0] {
  return {
    database: {
      required: true,
      check: async () => {
        if (await database.isReadOnly()) throw new NotReadyError("read-only");
        return undefined;
      },
    },
    ...(database.replica && {
      replica: { required: false, check: async () => database.replica?.state },
    }),
    events: {
      required: false,
      check: async () => {
        await bus.newestPosition();
        return relay.takenPositions > 0 ? "the bus has other events, too: see the log" : undefined;
      },
    },
    providers: {
      required: false,
      check: async () => (catalogue.providers().length > 0 ? undefined : "none known"),
    },
    chain: { required: false, check: async () => chain.outage() },
  };
}

/** The database that this configuration selects. On a server, `statementTimeoutMs` may be overridden; 0 disables it. */
export function databaseOf(
  config: Config,
  {
    statementTimeoutMs = config.DATABASE_STATEMENT_TIMEOUT_MS,
  }: { readonly statementTimeoutMs?: number } = {},
) {
  if (config.DATABASE_URL)
    return {
      kind: "server",
      url: config.DATABASE_URL,
      poolSize: config.DATABASE_POOL_SIZE,
      readPoolSize: config.DATABASE_READ_POOL_SIZE,
      readTimeoutMs: config.DATABASE_READ_TIMEOUT_MS,
      replicaUrl: config.DATABASE_REPLICA_URL,
      maxReplicaLagMs: config.DATABASE_REPLICA_MAX_LAG_MS,
      statementTimeoutMs,
      pooler: config.DATABASE_POOLER,
    } as const;
  return { kind: "folder", path: config.DATA_DIR } as const;
}

/**
 * The bus on Redis, and the connection of the shared rate-limit counters, which may break and reconnect: requests are
 * served without it. The client is loaded here, as it is a sixth of the modules of a process.
 */
async function openOnRedis(
  url: string,
  { REDIS_CA_FILE: caFile, REDIS_SENTINEL_PASSWORD: sentinelPassword }: Config,
  log: Logger,
): Promise<{ bus: Bus; redis?: RedisConnection }> {
  const [{ RedisBus }, { openRedis }] = await Promise.all([
    import("./events/bus.redis.ts"),
    import("./events/redis-connection.ts"),
  ]);
  const address = redisAddress(url, { caFile, sentinelPassword });
  const onError = (error: unknown) => log.debug({ err: error }, "requests are not counted in Redis now");
  const bus = await RedisBus.create(address, { log });
  const redis = openRedis(address, onError);
  await redis.connect();
  return { bus, redis };
}
