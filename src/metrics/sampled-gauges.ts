import { type CollectFunction, Gauge, type Registry } from "prom-client";
import type { JobQueue } from "../jobs/job-queue.store.ts";

/** Gauges that are read on each scrape. A gauge that fails is omitted. */
export type Sampled = {
  readonly holdsOpen: () => Promise<number>;
  /** Age of the oldest unpublished event, seconds; 0 if there is none. */
  readonly relayLagSeconds: () => Promise<number>;
  /** How often the bus had another event at the position of a new one. */
  readonly takenPositions: () => number;
  /** Spans that did not reach the collector since the start; undefined without traces. */
  readonly droppedSpans: () => number | undefined;
  /** How far the database's replica is behind, at most; undefined without one, or while that is not known. */
  readonly replicaLagSeconds: () => number | undefined;
  /** How far the process's clock is ahead of the database's; negative if it is behind. */
  readonly clockOffsetSeconds: () => number;
  /** The chain watchers: the blocks between a watcher's last one and the head, and whether it reads new ones. */
  readonly watchers: () => Promise<
    readonly {
      readonly watcher: string;
      readonly lagBlocks: number | undefined;
      readonly advances: boolean;
    }[]
  >;
  readonly jobs: () => Promise<JobQueue>;
  /** Age of the oldest event that waits for its delivery to a webhook, seconds; 0 if none waits. */
  readonly webhookLagSeconds: () => Promise<number>;
  /** Connections of this process to the database, and the callers that wait for one. */
  readonly databasePool: () => { readonly open: number; readonly idle: number; readonly waiting: number };
  /** Whether Redis answers; undefined for a process that uses none. */
  readonly redis: (() => Promise<boolean>) | undefined;
  /** The router's wallet, in neuron; undefined for a process without one. */
  readonly walletBalance: (() => Promise<bigint>) | undefined;
  /** Event streams open in this process: the sources of subscriptions. */
  readonly eventStreamsOpen: () => number;
  /** Memory that active requests hold: bodies, and responses until they are read. */
  readonly requestMemoryBytes: () => number;
  /** The 99th percentile of the event-loop delay in the last half second. */
  readonly eventLoopDelaySeconds: () => number;
  readonly circuits: () => readonly {
    readonly provider: string;
    readonly state: "closed" | "half-open" | "open";
  }[];
};

const CIRCUITS = { closed: 0, "half-open": 1, open: 2 } as const;
const SAMPLE_MS = 2_000;

/** Registers the gauges that are read from `sources` on each scrape. */
export function registerSampledGauges(registry: Registry, sources: Sampled): void {
  registerProcessGauges(registry, sources);
  registerSharedGauges(registry, sources);
}

/** What this process depends on and holds. */
function registerProcessGauges(registry: Registry, sources: Sampled): void {
  register(
    registry,
    "zerograph_database_connections",
    "Connections of this process to the database by state, idle or busy, without those of expensive reads",
    ["state"],
    async (gauge) => {
      const { open, idle } = sources.databasePool();
      gauge.set({ state: "idle" }, idle);
      gauge.set({ state: "busy" }, open - idle);
    },
  );
  register(
    registry,
    "zerograph_database_waiting",
    "Statements of this process that wait for a connection to the database",
    [],
    async (gauge) => gauge.set(sources.databasePool().waiting),
  );
  const { redis } = sources;
  if (redis)
    register(
      registry,
      "zerograph_redis_up",
      "Whether Redis answers this process: 1 or 0",
      [],
      async (gauge) => gauge.set((await redis()) ? 1 : 0),
    );
  register(
    registry,
    "zerograph_database_replica_lag_seconds",
    "How far the replica of the database is behind, at most; absent without one or while it is unreachable",
    [],
    async (gauge) => {
      const seconds = sources.replicaLagSeconds();
      if (seconds !== undefined) gauge.set(seconds);
    },
  );
  register(
    registry,
    "zerograph_clock_offset_seconds",
    "How far the clock of this process is ahead of the database's; negative if it is behind",
    [],
    async (gauge) => gauge.set(sources.clockOffsetSeconds()),
  );
  register(
    registry,
    "zerograph_trace_spans_dropped",
    "Spans that did not reach the collector since the start; absent without traces",
    [],
    async (gauge) => {
      const spans = sources.droppedSpans();
      if (spans !== undefined) gauge.set(spans);
    },
  );
  register(
    registry,
    "zerograph_event_streams_open",
    "Event streams open in this process; many subscriptions may share one",
    [],
    async (gauge) => gauge.set(sources.eventStreamsOpen()),
  );
  register(
    registry,
    "zerograph_request_memory_bytes",
    "Memory held by active requests: bodies, and responses until the client has read them",
    [],
    async (gauge) => gauge.set(sources.requestMemoryBytes()),
  );
  register(
    registry,
    "zerograph_event_loop_delay_seconds",
    "99th percentile of the event-loop delay in the last half second; requests are rejected above MAX_EVENT_LOOP_DELAY_MS",
    [],
    async (gauge) => gauge.set(sources.eventLoopDelaySeconds()),
  );
}

/** What every process reports alike, and the state of what is outside of it. */
function registerSharedGauges(registry: Registry, sources: Sampled): void {
  register(
    registry,
    "zerograph_holds_open",
    "Open holds of jobs, and allotments, across all processes",
    [],
    async (gauge) => gauge.set(await sources.holdsOpen()),
  );
  register(
    registry,
    "zerograph_event_relay_lag_seconds",
    "Age of the oldest unpublished event",
    [],
    async (gauge) => gauge.set(await sources.relayLagSeconds()),
  );
  register(
    registry,
    "zerograph_event_positions_taken",
    "How often the bus had another event at the position of a new one: the database was restored, or Redis is shared",
    [],
    async (gauge) => gauge.set(sources.takenPositions()),
  );
  registerJobGauges(registry, sources);
  register(
    registry,
    "zerograph_webhook_oldest_waiting_seconds",
    "Age of the oldest event that waits for its delivery to a webhook; 0 if none waits; read every 5 s",
    [],
    async (gauge) => gauge.set(await sources.webhookLagSeconds()),
  );
  const { walletBalance } = sources;
  if (walletBalance)
    register(
      registry,
      "zerograph_wallet_balance_neuron",
      "Balance of the router's wallet on the chain, from which transactions are paid; read at most twice a minute",
      [],
      async (gauge) => gauge.set(Number(await walletBalance())),
    );
  register(
    registry,
    "zerograph_watcher_lag_blocks",
    "Blocks between a chain watcher's last block and the head",
    ["watcher"],
    async (gauge) => {
      for (const { watcher, lagBlocks } of await sources.watchers())
        if (lagBlocks !== undefined) gauge.set({ watcher }, lagBlocks);
    },
  );
  register(
    registry,
    "zerograph_watcher_up",
    "Whether a chain watcher advances (1), or is halted, fails, or cannot read the chain (0)",
    ["watcher"],
    async (gauge) => {
      for (const { watcher, advances } of await sources.watchers()) gauge.set({ watcher }, Number(advances));
    },
  );
  register(
    registry,
    "zerograph_provider_circuit_state",
    "Circuit breakers of this process, the worst of a provider's models: 0 closed, 1 half-open, 2 open; absent for a provider to which it has sent no requests",
    ["provider"],
    async (gauge) => {
      // A provider has a circuit for each of its models: the worst of them is shown.
      const worst = new Map<string, number>();
      for (const { provider, state } of sources.circuits())
        worst.set(provider, Math.max(CIRCUITS[state], worst.get(provider) ?? 0));
      for (const [provider, state] of worst) gauge.set({ provider }, state);
    },
  );
}

function registerJobGauges(registry: Registry, { jobs }: Sampled): void {
  register(
    registry,
    "zerograph_jobs",
    "Unfinished jobs of all processes by state, waiting or running; counted to 10,000, every 5 s",
    ["state"],
    async (gauge) => {
      const { waiting, running } = await jobs();
      gauge.set({ state: "waiting" }, waiting);
      gauge.set({ state: "running" }, running);
    },
  );
  register(
    registry,
    "zerograph_jobs_oldest_waiting_seconds",
    "Age of the oldest job that no worker has started; 0 if none waits",
    [],
    async (gauge) => gauge.set((await jobs()).oldestWaitingSeconds),
  );
}

function register(
  registry: Registry,
  name: string,
  help: string,
  labelNames: readonly string[],
  read: (gauge: Gauge) => Promise<unknown>,
): void {
  // A reset alone sets a gauge without labels to 0, as if that had been read.
  const omit = (gauge: Gauge) => {
    gauge.reset();
    if (labelNames.length === 0) gauge.remove();
  };
  const collect: CollectFunction<Gauge> = async function (this: Gauge) {
    omit(this);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise((resolve) => {
      timer = setTimeout(resolve, SAMPLE_MS);
    });
    await Promise.race([read(this).catch(() => omit(this)), late]);
    clearTimeout(timer);
  };
  new Gauge({ name, help, labelNames: [...labelNames], registers: [registry], collect });
}
