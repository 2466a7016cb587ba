import { type CollectFunction, Gauge, type Registry } from "prom-client";

/** Gauges that are read on each scrape. A gauge that fails is omitted. */
export type Sampled = {
  readonly holdsOpen: () => Promise<number>;
  /** Age of the oldest unpublished event, seconds; 0 if there is none. */
  readonly relayLagSeconds: () => Promise<number>;
  /** Blocks between a watcher's last block and the head of the chain. */
  readonly watcherLags: () => Promise<readonly { readonly watcher: string; readonly blocks: number }[]>;
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
  register(
    registry,
    "zerograph_watcher_lag_blocks",
    "Blocks between a chain watcher's last block and the head",
    ["watcher"],
    async (gauge) => {
      for (const { watcher, blocks } of await sources.watcherLags()) gauge.set({ watcher }, blocks);
    },
  );
  register(
    registry,
    "zerograph_provider_circuit_state",
    "Circuit breakers of this process: 0 closed, 1 half-open, 2 open",
    ["provider"],
    async (gauge) => {
      for (const { provider, state } of sources.circuits()) gauge.set({ provider }, CIRCUITS[state]);
    },
  );
}

function register(
  registry: Registry,
  name: string,
  help: string,
  labelNames: readonly string[],
  read: (gauge: Gauge) => Promise<unknown>,
): void {
  const collect: CollectFunction<Gauge> = async function (this: Gauge) {
    this.reset();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise((resolve) => {
      timer = setTimeout(resolve, SAMPLE_MS);
    });
    await Promise.race([read(this).catch(() => this.reset()), late]);
    clearTimeout(timer);
  };
  new Gauge({ name, help, labelNames: [...labelNames], registers: [registry], collect });
}
