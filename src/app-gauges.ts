import type { AccountServices } from "./accounts/module.ts";
import type { AppContext } from "./app-context.ts";
import type { ChainServices } from "./chain/module.ts";
import { advances } from "./chain/watcher/log-watcher.store.ts";
import type { Database } from "./db/database.ts";
import type { EventsService } from "./events/events.service.ts";
import type { EventRelay } from "./events/relay.ts";
import type { InferenceServices } from "./inference/module.ts";
import { readJobQueue } from "./jobs/job-queue.store.ts";
import type { Hex } from "./kernel/text/hex.ts";
import { droppedSpans } from "./kernel/tracing.ts";
import type { LoadServices } from "./load/module.ts";
import { cachedRead } from "./metrics/cached-read.ts";
import type { Metrics } from "./metrics/metrics.ts";
import { oldestWaitingSeconds } from "./webhooks/delivery-queue.store.ts";

/** How long a scrape may answer from an earlier read. */
const JOBS_READ_MS = 5_000;
const BALANCE_READ_MS = 30_000;
const WATCHERS_READ_MS = 1_000;

/** The services that gauges are read from. */
type Services = Pick<
  AccountServices & ChainServices & InferenceServices & LoadServices,
  "holds" | "chain" | "catalogue" | "health" | "load"
>;

type Samples = Parameters<Metrics["sample"]>[0];

/** The gauges of what the process depends on. What is shared or remote is read at intervals, however often metrics are scraped. */
export function dependencyGauges({ config, database, bus, rpc }: AppContext) {
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

/** The gauges of the state of this process, which are read when metrics are scraped. */
export function processGauges(
  { holds, chain, catalogue, health, load }: Services,
  database: Database,
  relay: EventRelay,
  events: EventsService,
): Omit<Samples, keyof ReturnType<typeof dependencyGauges> | "clockOffsetSeconds"> {
  const readWatchers = async () =>
    [...(await chain.watchers())].map(([watcher, { state, lagBlocks }]) => ({
      ...{ watcher, advances: advances(state) },
      lagBlocks: lagBlocks === undefined ? undefined : Number(lagBlocks),
    }));
  return {
    holdsOpen: () => holds.open(),
    relayLagSeconds: () => relay.lagSeconds(),
    takenPositions: () => relay.takenPositions,
    droppedSpans,
    replicaLagSeconds: () => database.replica?.lagSeconds,
    eventStreamsOpen: () => events.openStreams,
    requestMemoryBytes: () => load.memory.usedBytes,
    eventLoopDelaySeconds: () => load.monitor.delayP99Ms / 1_000,
    watchers: cachedRead(readWatchers, WATCHERS_READ_MS),
    // A process that sends no requests to a provider does not know its circuit.
    circuits: () =>
      catalogue.providers().flatMap((provider) => {
        const state = health.circuitOf(provider);
        return state === undefined ? [] : [{ provider: provider.address, state }];
      }),
  };
}
