import { type AccountServices, createAccountModule } from "./accounts/module.ts";
import { databaseOf, openOnRedis } from "./app-connections.ts";
import type { AppContext } from "./app-context.ts";
import { dependencyGauges, processGauges } from "./app-gauges.ts";
import { readinessChecks } from "./app-readiness.ts";
import { type ChainServices, createChainModule } from "./chain/module.ts";
import type { Network } from "./chain/networks.ts";
import { createRpc, type Rpc } from "./chain/rpc/rpc.client.ts";
import { rpcUrlsOf } from "./chain/rpc/rpc-urls.ts";
import { type Config, readVariable } from "./config.ts";
import type { Database } from "./db/database.ts";
import { DatabaseClock, readDatabaseTime } from "./db/database-clock.ts";
import { readDeploymentSecret } from "./db/deployment-secret.ts";
import { EmbeddedMaintenance } from "./db/embedded/maintenance.runner.ts";
import { openDatabase } from "./db/open.ts";
import { MemoryBus } from "./events/bus.memory.ts";
import type { Bus } from "./events/bus.ts";
import { EventCursors } from "./events/event-cursors.ts";
import { EventsService } from "./events/events.service.ts";
import { KEPT_HOURS } from "./events/outbox.ts";
import type { RedisConnection } from "./events/redis-connection.ts";
import { EventRelay } from "./events/relay.ts";
import { IdempotencyService } from "./idempotency/idempotency.service.ts";
import { RunningClaims } from "./idempotency/running-claims.ts";
import { createInferenceModule, type InferenceServices, requestSeconds } from "./inference/module.ts";
import { endAll } from "./kernel/async/end-all.ts";
import { type Clock, systemClock, type WaitingClock } from "./kernel/clock.ts";
import { StartupError } from "./kernel/errors.ts";
import type { Logger } from "./kernel/log.ts";
import { createKeyModule, type KeyServices } from "./keys/module.ts";
import { createLoadModule, type LoadServices } from "./load/module.ts";
import { InternalRefusals } from "./metrics/internal-refusals.ts";
import { Metrics } from "./metrics/metrics.ts";
import { type Readiness, readinessOf } from "./metrics/readiness.ts";
import { createOperationModule, type OperationServices } from "./operations/module.ts";
import type { ProcessRole } from "./operations/process-report.ts";
import { createReceiptModule } from "./receipts/module.ts";
import { openReceiptKey, type ReceiptKey } from "./receipts/receipt-key.ts";
import type { ReceiptsService } from "./receipts/receipts.service.ts";
import { createStorageModule, type StorageServices } from "./storage/module.ts";
import { createWebhookModule } from "./webhooks/module.ts";
import type { WebhooksService } from "./webhooks/webhooks.service.ts";

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
    /** The database's time. */
    readonly clock: Clock;
    readonly database: Database;
    readonly events: EventsService;
    readonly idempotency: IdempotencyService;
    readonly receipts: ReceiptsService;
    readonly webhooks: WebhooksService;
    /** The metrics of this process; undefined without METRICS_PORT. */
    readonly metrics: Metrics | undefined;
    /** Whether this process can serve requests, and which of its dependencies fail. */
    /** Refused requests between processes. */
    readonly internalRefusals: InternalRefusals;
    readiness(): Promise<Readiness>;
    /** Starts the work of this process: publishing events and reading providers; a worker also watches the chain. */
    start(role: { readonly worker: boolean; readonly name?: ProcessRole }): Promise<void>;
    /** Waits until the requests in flight are billed, stops all work and closes every connection. */
    close(): Promise<void>;
  };

/**
 * Creates the modules by hand, in the order of their dependencies. It never listens. `open` opens the database and
 * replaces the one that the configuration names; `processClock` replaces the system's.
 */
export async function createApp(
  config: Config,
  network: Network,
  log: Logger,
  open: () => Promise<Database> = () => openDatabase(databaseOf(config, { log })),
  processClock: WaitingClock = systemClock,
): Promise<App> {
  const urls = rpcUrlsOf(config, network, log);
  const clock = new DatabaseClock(processClock, log);
  const rpc = createRpc({ urls, network: config.NETWORK, chainId: network.chainId, log, clock });
  await rpc.verifyChain().catch((error: Error) => {
    throw new StartupError(error.message, { cause: error });
  });
  const database = await open();
  try {
    if (database.folder === undefined) await clock.follow(() => readDatabaseTime(database));
    const { bus, redis } = config.REDIS_URL
      ? await openOnRedis(config.REDIS_URL, config, log)
      : { bus: new MemoryBus() };
    const { secret, createdAt } = await readDeploymentSecret(database, "event cursors");
    const cursors = new EventCursors(secret, new Date(createdAt.getTime() + KEPT_HOURS * 3_600_000));
    const receiptKey = await openReceiptKey(database, config.RECEIPT_KEY);
    const webhookSecret = (await readDeploymentSecret(database, "webhooks")).secret;
    const filesSecret = (await readDeploymentSecret(database, "files")).secret;
    return wire({
      ...{ config, network, log, clock, processClock, rpc, database, bus, redis, cursors, receiptKey },
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
  clock: DatabaseClock;
  processClock: WaitingClock;
  rpc: Rpc;
  database: Database;
  bus: Bus;
  redis: RedisConnection | undefined;
  cursors: EventCursors;
  receiptKey: ReceiptKey;
  webhookSecret: string;
  filesSecret: string;
}): App {
  const { config, network, log, clock, processClock, rpc, database, bus, redis } = dependencies;
  const { cursors, receiptKey } = dependencies;
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
    processClock,
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
    clock,
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
  const internalRefusals = new InternalRefusals(log);
  metrics?.sample({
    ...processGauges(services, database, relay, events),
    ...dependencyGauges(parts),
    clockOffsetSeconds: () => clock.offsetMs() / 1_000,
  });
  return {
    ...{ config, network, log, clock, database, events, idempotency, metrics },
    receipts: receipts.receipts,
    webhooks: webhooks.webhooks,
    ...services,
    internalRefusals,
    readiness: () => readinessOf(readinessChecks(services, database, bus, relay, internalRefusals)),
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
    close() {
      const failed = (err: unknown) => log.error({ err }, "a part of the process did not end as it should");
      const modules = [accounts, keys, chain, storage, webhooks];
      // Requests in flight are billed first; their events are published last. A part that fails keeps no other from ending.
      const ends = [
        () => inference.stop(),
        () => idempotency.stop(),
        () => operations.stop(),
        () => Promise.all(modules.map((module) => endAll([() => module.stop()], failed))),
        // The accounts make the last settlements, whose receipts wait for hashes.
        () => receipts.stop(),
        () => relay.stop(),
        () => maintenance?.stop(),
        () => bus.close(),
        async () => redis?.isOpen && redis.destroy(),
        () => database.close(),
      ];
      return endAll(ends, failed);
    },
  };
}
