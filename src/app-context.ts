import type { Network } from "./chain/networks.ts";
import type { Rpc } from "./chain/rpc/rpc.client.ts";
import type { Config } from "./config.ts";
import type { Database } from "./db/database.ts";
import type { Bus } from "./events/bus.ts";
import type { EventsService } from "./events/events.service.ts";
import type { WaitingClock } from "./kernel/clock.ts";
import type { Logger } from "./kernel/log.ts";

/** The shared dependencies that every module is created with. */
export type AppContext = {
  readonly config: Config;
  readonly network: Network;
  readonly log: Logger;
  /** The database's time: for what is stored, sent, or compared with the times of others. */
  readonly clock: WaitingClock;
  /** The process's own time: only for what this process alone compares. */
  readonly processClock: WaitingClock;
  readonly rpc: Rpc;
  readonly database: Database;
  readonly bus: Bus;
  readonly events: EventsService;
  /** Signals that events were committed. */
  readonly committed: () => void;
};

/** The background work of a module. */
export type Lifecycle = {
  /** Starts the background work of a worker process. */
  startWork?(): void;
  /** Stops all work; resolves when nothing is in progress. */
  stop(): Promise<void>;
};
