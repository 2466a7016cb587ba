import { hostname } from "node:os";
import { monitorEventLoopDelay } from "node:perf_hooks";
import manifest from "../../package.json" with { type: "json" };
import type { Queries } from "../db/database.ts";
import type { DatabaseClock } from "../db/database-clock.ts";
import type { CircuitReport } from "../inference/providers/health/health.service.ts";
import { PeriodicTask } from "../kernel/async/periodic-task.ts";
import type { Logger } from "../kernel/log.ts";
import type { ProcessReport, ProcessRole, ServiceProcess } from "./process-report.ts";
import { readReports, removeReport, writeReport } from "./process-reports.store.ts";

type Dependencies = {
  /** The id under which it also holds money. */
  readonly id: string;
  /** Undefined for the only process of its database, which then writes nothing. */
  readonly queries: Queries | undefined;
  /** Follows the database with each report. */
  readonly clock: DatabaseClock;
  readonly log: Logger;
  readonly eventStreams: () => number;
  readonly circuits: () => readonly CircuitReport[];
};

const EVERY_MS = 5_000;
const RESOLUTION_MS = 20;
const NANOSECONDS_PER_MS = 1e6;
const MAX_CIRCUITS = 100;
const MAX_HOST_LENGTH = 253;

/**
 * The processes of this deployment. Each writes every 5 s what it reports of itself, so that any of them can list all;
 * with the embedded database there is one process, which writes nothing.
 */
export class ProcessesService {
  readonly #dependencies: Dependencies;
  readonly #delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  readonly #startedAt: Date;
  readonly #task: PeriodicTask;
  #role: ProcessRole = "all";
  #subscriptions = 0;
  #isStarted = false;
  /** The delays between the last two reports. */
  #delays = { delayP50Ms: 0, delayP99Ms: 0 };

  constructor(dependencies: Dependencies) {
    const { clock, log } = dependencies;
    this.#dependencies = dependencies;
    this.#startedAt = clock.now();
    this.#task = new PeriodicTask({
      everyMs: EVERY_MS,
      work: () => this.report(),
      failed: (error) => log.warn({ err: error }, "this process could not report its state"),
    });
  }

  /** Reports now and every 5 s until `stop`. */
  start(role: ProcessRole): void {
    this.#role = role;
    this.#isStarted = true;
    this.#delay.enable();
    this.#task.start();
  }

  /** Stops reporting: the process is no longer listed. */
  async stop(): Promise<void> {
    const { queries, id, log } = this.#dependencies;
    const wasStarted = this.#isStarted;
    // A later nudge would report the process again.
    this.#isStarted = false;
    await this.#task.stop();
    this.#delay.disable();
    if (!queries || !wasStarted) return;
    await removeReport(queries, id).catch((error: unknown) =>
      log.warn({ err: error }, "this process is listed for another hour"),
    );
  }

  /** Measures how late the event loop was since the last report, and writes what this process reports. */
  async report(): Promise<void> {
    const { queries, clock, id } = this.#dependencies;
    this.#delays = { delayP50Ms: this.#delayMs(50), delayP99Ms: this.#delayMs(99) };
    this.#delay.reset();
    const own = { id, startedAt: this.#startedAt };
    if (queries) await clock.follow(() => writeReport(queries, own, this.#read()));
  }

  /** Reports soon, because something changed that operators wait for. */
  nudge(): void {
    if (this.#isStarted) void this.#task.run();
  }

  /** Counts a subscription of a client until the returned function is called. */
  countSubscription(): () => void {
    this.#subscriptions++;
    let isOpen = true;
    return () => {
      if (isOpen) this.#subscriptions--;
      isOpen = false;
    };
  }

  /** All processes of this deployment that reported in the last hour, oldest first, at most 500. */
  async list(): Promise<readonly ServiceProcess[]> {
    const { queries, clock, id } = this.#dependencies;
    if (queries) return readReports(queries);
    const own = { id, startedAt: this.#startedAt, reportedAt: clock.now(), isSilent: false };
    return [{ ...own, ...this.#read() }];
  }

  #read(): ProcessReport {
    const { eventStreams, circuits } = this.#dependencies;
    return {
      host: hostname().slice(0, MAX_HOST_LENGTH),
      role: this.#role,
      version: manifest.version,
      nodeVersion: process.version,
      ...this.#delays,
      residentBytes: process.memoryUsage.rss(),
      eventStreams: eventStreams(),
      subscriptions: this.#subscriptions,
      circuits: circuits().slice(0, MAX_CIRCUITS),
    };
  }

  /** Node measures with a timer that fires every RESOLUTION_MS: that time is not delay. */
  #delayMs(percentile: number): number {
    const ms = this.#delay.percentile(percentile) / NANOSECONDS_PER_MS - RESOLUTION_MS;
    return Math.max(0, Math.round(ms * 10) / 10);
  }
}
