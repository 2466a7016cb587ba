import type { LedgerCheck, LedgerService } from "../accounts/ledger.service.ts";
import type { Queries } from "../db/database.ts";
import { countUnpublished, lastPublished, oldestUnpublishedSeconds } from "../events/outbox.ts";
import { type JobQueueOfKind, readJobQueues } from "../jobs/job-queue.store.ts";
import { memoizeFor } from "../kernel/async/memoize-for.ts";
import type { Clock } from "../kernel/clock.ts";
import { oldestWaitingSeconds, scannedPosition } from "../webhooks/delivery-queue.store.ts";
import type { WebhookHealth } from "../webhooks/webhook-health.store.ts";
import type { WebhooksService } from "../webhooks/webhooks.service.ts";

type Dependencies = {
  readonly queries: Queries;
  readonly clock: Clock;
  readonly webhooks: WebhooksService;
  readonly ledger: LedgerService;
};

/** The work that waits for a process. */
export type Queues = {
  readonly jobs: readonly JobQueueOfKind[];
  /** Events that are not published yet, counted to 10,000, and the age of the oldest, seconds; 0 if there is none. */
  readonly unpublished: number;
  readonly oldestUnpublishedSeconds: number;
  /** The position of the newest published event, and how many positions are not matched with webhooks yet. */
  readonly position: bigint;
  readonly unmatched: bigint;
};

/** How webhooks fare, and the age of the oldest event that waits for its delivery, seconds; 0 if none waits. */
export type Deliveries = WebhookHealth & { readonly oldestWaitingSeconds: number };

/** Everyone who looks shares a read that began so short ago. */
const FRESH_MS = 1_000;
const MAX_COUNTED = 10_000;

/** What operators see of the work of all processes. Each read is bounded, and shared by all who look in a second. */
export class OperationsService {
  readonly #ledger: LedgerService;
  readonly #queues: () => Promise<Queues>;
  readonly #deliveries: () => Promise<Deliveries>;

  constructor({ queries, clock, webhooks, ledger }: Dependencies) {
    this.#ledger = ledger;
    this.#queues = memoizeFor(clock, FRESH_MS, () => readQueues(queries));
    this.#deliveries = memoizeFor(clock, FRESH_MS, async () => {
      const [health, oldest] = await Promise.all([webhooks.health(), oldestWaitingSeconds(queries)]);
      return { ...health, oldestWaitingSeconds: oldest };
    });
  }

  /** What waits: unfinished jobs by kind, and events. */
  queues(): Promise<Queues> {
    return this.#queues();
  }

  /** How webhooks of all accounts fare. */
  deliveries(): Promise<Deliveries> {
    return this.#deliveries();
  }

  /** The result of the last check of the ledger; undefined before the first. */
  ledgerCheck(): Promise<LedgerCheck | undefined> {
    return this.#ledger.last();
  }
}

async function readQueues(queries: Queries): Promise<Queues> {
  const [jobs, unpublished, oldest, position, scanned] = await Promise.all([
    readJobQueues(queries),
    countUnpublished(queries, MAX_COUNTED),
    oldestUnpublishedSeconds(queries),
    lastPublished(queries),
    scannedPosition(queries),
  ]);
  const unmatched = position > scanned ? position - scanned : 0n;
  return { jobs, unpublished, oldestUnpublishedSeconds: oldest, position, unmatched };
}
