import { setTimeout as sleep } from "node:timers/promises";
import type { Database, Queries } from "../db/database.ts";
import type { Logger } from "../kernel/log.ts";
import { detached } from "../kernel/tracing.ts";
import type { Bus } from "./bus.ts";
import {
  forgetEvents,
  hasUnpublished,
  oldestUnpublishedSeconds,
  readRecent,
  skipPositions,
  takePositions,
} from "./outbox.ts";
import { PositionTakenError } from "./position-taken.ts";

const BATCH = 500;
const POLL_MS = 1_000;
/** Under load one transaction publishes many commits; a transaction for each commit took 1/3 of all time. */
const PACE_MS = 50;
const SWEEP_MS = 60_000;
const SWEEP_BATCH = 1_000;
/** A reader that hung for longer resumes by its cursor; readers normally follow within milliseconds. */
const RESTORED_SECONDS = 600;
const MAX_RESTORED = 10_000;
const FIRST_RETRY_MS = 50;
const LAST_RETRY_MS = 2_000;

const TAKEN =
  "the bus has other events at the positions of this database, which are published after them: either the database was " +
  "restored to an earlier state, or another product uses the same Redis, which then needs its own";

/** When this process hangs while it holds the lock, its transaction times out and another relay takes over. */
const HANG = "set_config('idle_in_transaction_session_timeout', '15s', true)";
const SERVER = "pg_postmaster_start_time()::text as server";
const LOCK = `select pg_advisory_xact_lock(8102027514), ${HANG}, ${SERVER}`;
const TRY_LOCK = `select pg_try_advisory_xact_lock(8102027514) as held, ${HANG}, ${SERVER}`;

/**
 * Publishes the events of the outbox. Every process runs a relay; a lock in the database lets one at a time assign
 * positions and publish, in its own transaction, so that positions are committed in order.
 *
 * When that transaction fails after the bus accepted the events, they are published again with greater positions
 * and the same ids: delivery is at least once. So are events whose positions the bus has given to others.
 */
export class EventRelay {
  readonly #database: Database;
  readonly #bus: Bus;
  readonly #log: Logger;
  #poll: NodeJS.Timeout | undefined;
  #retry: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #sweeping: Promise<void> | undefined;
  #nudged = false;
  #polled = false;
  #failures = 0;
  #takenPositions = 0;
  /** The start of the server on which positions were last compared with the bus. */
  #aligned: string | undefined;
  #sweptAtMs = Number.NEGATIVE_INFINITY;

  constructor(database: Database, bus: Bus, log: Logger) {
    this.#database = database;
    this.#bus = bus;
    this.#log = log;
  }

  /** Publishes what an earlier process left, then whatever `nudge` announces or a poll finds every second. */
  start(): void {
    if (this.#poll) return;
    this.#poll = setInterval(() => {
      this.#polled = true;
      this.#wake();
      this.#sweepWhenDue();
    }, POLL_MS).unref();
    this.nudge();
  }

  /** Signals that events were committed. They are published at once, or together 50 ms after the last batch. */
  nudge(): void {
    this.#nudged = true;
    this.#wake();
  }

  /** Age in seconds of the oldest event that is not published yet; 0 when there is none. */
  lagSeconds(): Promise<number> {
    return oldestUnpublishedSeconds(this.#database);
  }

  /** How often an event could not have its position, because the bus has another event there. */
  get takenPositions(): number {
    return this.#takenPositions;
  }

  /** Whether the last attempt of this process to publish failed. */
  get isFailing(): boolean {
    return this.#failures > 0;
  }

  /** Stops after the running step. Events that are not published yet stay in the outbox. */
  async stop(): Promise<void> {
    clearInterval(this.#poll);
    clearTimeout(this.#retry);
    this.#poll = undefined;
    this.#retry = undefined;
    await Promise.all([this.#running, this.#sweeping]);
  }

  #wake(): void {
    if (!this.#poll || this.#retry || this.#running) return;
    this.#running = detached(() => this.#drain())
      .catch((error: unknown) => this.#retryLater(error))
      .finally(() => {
        this.#running = undefined;
        if (this.#nudged) this.#wake();
      });
  }

  async #drain(): Promise<void> {
    while (this.#poll && (this.#nudged || this.#polled)) {
      const nudged = this.#nudged;
      this.#nudged = false;
      this.#polled = false;
      const isDue = nudged || !(await this.#bus.isSeeded()) || (await hasUnpublished(this.#database));
      const more = isDue && (await this.publishBatch(nudged));
      if (more) this.#nudged = true;
      else await sleep(PACE_MS);
    }
  }

  /**
   * Publishes one batch; true when more may be waiting. After a nudge it waits for the lock, because the relay that
   * holds it may have read the outbox before the nudging transaction committed.
   */
  async publishBatch(wait = true): Promise<boolean> {
    const count = await this.#database.statements(async (tx) => {
      const [lock] = await tx.rows<{ held?: boolean; server: string }>(wait ? LOCK : TRY_LOCK);
      if (!lock || lock.held === false) return 0;
      if (this.#aligned !== lock.server) {
        // A promoted standby, or a database that was restored, may lag behind the bus, which rejects its events.
        await skipPositions(tx, await this.#bus.newestPosition());
        this.#aligned = lock.server;
      }
      await this.#restore(tx);
      const events = await takePositions(tx, BATCH);
      await this.#bus.publish(events);
      return events.length;
    });
    if (this.#failures > 0) this.#log.info("events are being published again");
    this.#failures = 0;
    return count === BATCH;
  }

  /**
   * Republishes the newest events, with their original positions, to a bus that lost its data: readers that had not
   * seen them resume there, and no reader receives an event twice.
   */
  async #restore(tx: Queries): Promise<void> {
    if (await this.#bus.isSeeded()) return;
    const recent = await readRecent(tx, RESTORED_SECONDS, MAX_RESTORED);
    for (let from = 0; from < recent.length; from += BATCH)
      await this.#bus.restore(recent.slice(from, from + BATCH));
    await this.#bus.markSeeded();
    this.#log.info(
      { events: recent.length },
      "restored the newest events on a bus that was new or had lost its data",
    );
  }

  /** Runs concurrently with publishing, never before it: after a busy day there is much to delete. */
  #sweepWhenDue(): void {
    const now = performance.now();
    if (this.#sweeping || now - this.#sweptAtMs < SWEEP_MS) return;
    this.#sweptAtMs = now;
    this.#sweeping = this.#sweep()
      .catch((error: unknown) => this.#log.warn({ err: error }, "old events could not be deleted"))
      .finally(() => {
        this.#sweeping = undefined;
      });
  }

  async #sweep(): Promise<void> {
    let gone = SWEEP_BATCH;
    while (this.#poll && gone === SWEEP_BATCH) gone = await forgetEvents(this.#database, SWEEP_BATCH);
  }

  #retryLater(error: unknown): void {
    this.#nudged = true;
    this.#aligned = undefined;
    let delayMs = FIRST_RETRY_MS;
    if (error instanceof PositionTakenError) {
      // Said once: two products on one Redis would otherwise say so at every event.
      if (this.#takenPositions++ === 0) this.#log.error({ err: error }, TAKEN);
    } else {
      if (this.#failures === 0)
        this.#log.error({ err: error }, "events could not be published; trying again");
      delayMs = Math.min(FIRST_RETRY_MS * 2 ** this.#failures++, LAST_RETRY_MS);
    }
    if (!this.#poll) return;
    this.#retry = setTimeout(() => {
      this.#retry = undefined;
      this.#wake();
    }, delayMs).unref();
  }
}
