import type { ChainServices } from "./chain/module.ts";
import type { Database } from "./db/database.ts";
import type { Bus } from "./events/bus.ts";
import type { EventRelay } from "./events/relay.ts";
import type { InferenceServices } from "./inference/module.ts";
import type { InternalRefusals } from "./metrics/internal-refusals.ts";
import { NotReadyError, type Part } from "./metrics/readiness.ts";
import type { StorageServices } from "./storage/module.ts";

/** The readiness checks of this process: those that it requires, and those that it only reports. */
export function readinessChecks(
  {
    catalogue,
    chain,
    storageDisk,
  }: Pick<ChainServices & InferenceServices & StorageServices, "chain" | "catalogue" | "storageDisk">,
  database: Database,
  bus: Bus,
  relay: EventRelay,
  internalRefusals: InternalRefusals,
): Readonly<Record<string, Part>> {
  return {
    database: {
      required: true,
      check: async () => {
        if (await database.isReadOnly()) throw new NotReadyError("read-only");
        if (database.isFull) throw new NotReadyError("no space left");
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
        // As by a Redis that has no memory left, that is a replica, or whose user lacks a permission.
        if (bus.isRefused) throw new NotReadyError("not readable: see the log");
        if (relay.isFailing) throw new NotReadyError("not published: see the log");
        return relay.takenPositions > 0 ? "the bus has other events, too: see the log" : undefined;
      },
    },
    providers: {
      required: false,
      check: async () => (catalogue.providers().length > 0 ? undefined : "none known"),
    },
    chain: { required: false, check: async () => chain.outage() },
    // Not required: only uploads need it, and other processes have the same disk.
    ...(storageDisk && { storage: { required: false, check: async () => storageDisk.writeFault } }),
    // Not required: REST needs no subgraph, and a gateway that is not ready would serve neither.
    ...(internalRefusals.remark !== undefined && {
      processes: { required: false, check: async () => internalRefusals.remark },
    }),
  };
}
