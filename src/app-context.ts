import type { Network } from "./chain/networks.ts";
import type { Rpc } from "./chain/rpc/rpc.client.ts";
import type { Config } from "./config.ts";
import type { Database } from "./db/database.ts";
import type { Bus } from "./events/bus.ts";
import type { EventsService } from "./events/events.service.ts";
import type { WaitingClock } from "./kernel/clock.ts";
import type { Logger } from "./kernel/log.ts";

/** What every module of the product is built from. */
export type AppContext = {
  readonly config: Config;
  readonly network: Network;
  readonly log: Logger;
  readonly clock: WaitingClock;
  readonly rpc: Rpc;
  readonly database: Database;
  readonly bus: Bus;
  readonly events: EventsService;
  /** Says that events were committed. */
  readonly committed: () => void;
};

/** What a module does besides answering. */
export type Lifecycle = {
  /** Begins the work of a worker process. */
  startWork?(): void;
  /** Ends all work, and resolves when nothing is under way any more. */
  stop(): Promise<void>;
};
