import type { HoldsService } from "../accounts/holds.service.ts";
import { LedgerService } from "../accounts/ledger.service.ts";
import type { AppContext } from "../app-context.ts";
import type { DatabaseClock } from "../db/database-clock.ts";
import { BusListener } from "../events/bus-listener.ts";
import type { TopicPayloads } from "../events/topics.ts";
import type { InferenceServices } from "../inference/module.ts";
import type { WebhooksService } from "../webhooks/webhooks.service.ts";
import { OperationsService } from "./operations.service.ts";
import { OperatorActionsService } from "./operator-actions.service.ts";
import { Operators } from "./operators.ts";
import type { ProcessRole } from "./process-report.ts";
import { ProcessesService } from "./processes.service.ts";
import { StatusService } from "./status.service.ts";

/** The services of operators. */
export type OperationServices = {
  readonly operators: Operators;
  readonly operations: OperationsService;
  readonly operatorActions: OperatorActionsService;
  /** The processes of this deployment. */
  readonly processes: ProcessesService;
  /** What everyone may see, with `STATUS_PAGE=on`. */
  readonly status: StatusService;
};

/** The services of operators, and what every process does for them. */
export type OperationModule = {
  readonly services: OperationServices;
  /** Reports the state of this process, and follows what operators do to providers. */
  start(role: ProcessRole): void;
  stop(): Promise<void>;
};

type Dependencies = {
  /** Follows the database with each report of this process. */
  readonly clock: DatabaseClock;
  readonly holds: HoldsService;
  readonly webhooks: WebhooksService;
  readonly inference: Pick<InferenceServices, "catalogue" | "health" | "healthHistory">;
};

/** Creates the services of operators. */
export function createOperationModule(
  { config, log, database, bus, events, committed }: AppContext,
  { clock, holds, webhooks, inference: { catalogue, health, healthHistory } }: Dependencies,
): OperationModule {
  const ledger = new LedgerService(database);
  const processes = new ProcessesService({
    ...{ clock, log, id: holds.processId },
    queries: database.folder === undefined ? database : undefined,
    eventStreams: () => events.openStreams,
    circuits: () => health.report(catalogue.providers()),
  });
  const steer = ({ provider, change, seconds }: TopicPayloads["circuit.changed"]) => {
    for (const offer of catalogue.providers().filter(({ address }) => address.toLowerCase() === provider))
      if (change === "closed") health.close(offer);
      else health.rest(offer, seconds * 1_000);
    processes.nudge();
  };
  const steering = new BusListener({
    bus,
    topic: "circuit.changed",
    onEvent: ({ data }) => steer(data),
    onLost: (error) => log.warn({ err: error }, "what operators do to providers is not received now"),
  });
  return {
    services: {
      operators: new Operators(config.OPERATORS ?? []),
      operations: new OperationsService({ queries: database, clock, webhooks, ledger }),
      operatorActions: new OperatorActionsService({
        ...{ database, log, committed, catalogue, webhooks, ledger, holds },
      }),
      processes,
      status: new StatusService({ clock, catalogue, healthHistory, processes }),
    },
    start(role) {
      processes.start(role);
      steering.start();
    },
    async stop() {
      await Promise.all([processes.stop(), steering.stop()]);
    },
  };
}
