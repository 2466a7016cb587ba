import { randomUUID } from "node:crypto";
import type { Database } from "../../db/database.ts";
import { readDatabaseTime } from "../../db/database-clock.ts";
import { EmbeddedMaintenance } from "../../db/embedded/maintenance.runner.ts";
import type { Logger } from "../../kernel/log.ts";
import type { LedgerService } from "../ledger.service.ts";
import type { UsageRollups } from "../usage/usage-rollups.service.ts";
import { listClosedMonths } from "./closed-months.store.ts";
import { ClosingLease } from "./closing-lease.ts";
import type { ClosingSource } from "./closing-source.ts";
import { LEDGER_SOURCE } from "./ledger-source.store.ts";
import { MonthCloser } from "./month-closer.ts";
import { addMonths, type ClosingKind, type Month, monthOf, newestDue, startOf } from "./months.ts";
import { REQUESTS_SOURCE } from "./requests-source.store.ts";

/** How many whole months before the current one are kept, of each kind; undefined keeps all. */
export type RetentionPolicy = {
  readonly requestsMonths: number | undefined;
  readonly ledgerMonths: number | undefined;
  /** Where the archives are. */
  readonly folder: string;
};

/** Receives how many rows were removed. */
export type RetentionObserver = { rowsRemoved(kind: ClosingKind, rows: number): void };

/** The settings of the policy. */
type RetentionSettings = {
  readonly RETENTION_REQUESTS_MONTHS: number | undefined;
  readonly RETENTION_LEDGER_MONTHS: number | undefined;
  readonly RETENTION_ARCHIVE_FOLDER: string | undefined;
};

/** The policy of these settings; undefined if everything is kept. */
export function policyOf({
  RETENTION_REQUESTS_MONTHS: requestsMonths,
  RETENTION_LEDGER_MONTHS: ledgerMonths,
  RETENTION_ARCHIVE_FOLDER: folder,
}: RetentionSettings): RetentionPolicy | undefined {
  if (folder === undefined || (requestsMonths === undefined && ledgerMonths === undefined)) return undefined;
  return { requestsMonths, ledgerMonths, folder };
}

type Dependencies = {
  readonly database: Database;
  readonly log: Logger;
  readonly policy: RetentionPolicy;
  readonly ledger: Pick<LedgerService, "findFaults">;
  readonly rollups: UsageRollups;
  readonly observer?: RetentionObserver | undefined;
  /** How often a run renews its lease; for tests. */
  readonly renewMs?: number;
};

/** A month that is over and not kept by the policy. */
export type DueMonth = { readonly kind: ClosingKind; readonly month: Month };
/** Such a month, and how many rows it has. */
export type CountedMonth = DueMonth & { readonly rows: number };

/**
 * Closes months that are older than the policy keeps: archives their requests or transfers and removes them. One process
 * at a time does so.
 */
export class RetentionService {
  readonly #dependencies: Dependencies;
  readonly #processId = randomUUID();
  #stopping = new AbortController();

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** The months that would be closed now, oldest first. A month that is being removed is one of them. */
  async due(at?: Date): Promise<readonly DueMonth[]> {
    const now = at ?? (await this.#now());
    const due: DueMonth[] = [];
    for (const { source, kept } of this.#sources()) {
      const { kind } = source;
      const newest = newestDue(now, kept);
      const first = await this.#nextMonth(source);
      for (let month = first; month !== undefined && month <= newest; month = addMonths(month, 1))
        due.push({ kind, month });
    }
    return due;
  }

  /** The same with the number of rows of each, which reads all that are due. */
  async preview(at?: Date): Promise<readonly CountedMonth[]> {
    const now = at ?? (await this.#now());
    const counted: CountedMonth[] = [];
    for (const { source, kept } of this.#sources()) {
      const due = (await this.due(now)).filter(({ kind }) => kind === source.kind);
      if (due.length === 0) continue;
      const end = startOf(addMonths(newestDue(now, kept), 1));
      const counts = await source.countRows(this.#dependencies.database, end);
      // A month without rows is closed as well, and the first one with what is left of those before it.
      for (const [index, one] of due.entries()) {
        const found = counts.filter(({ month }) => month === one.month || (index === 0 && month < one.month));
        counted.push({ ...one, rows: found.reduce((sum, { rows }) => sum + rows, 0) });
      }
    }
    return counted;
  }

  /**
   * Closes every month that is due. Returns those that were closed; none while another process does it. Throws, and
   * removes nothing, if the ledger has a fault.
   */
  async run(at?: Date): Promise<readonly CountedMonth[]> {
    const { database, renewMs } = this.#dependencies;
    // First, so that a stop while the run reads what is due ends it.
    this.#stopping = new AbortController();
    const now = at ?? (await this.#now());
    const closed: CountedMonth[] = [];
    if ((await this.due(now)).length === 0) return closed;
    const lease = await ClosingLease.take(database, this.#processId, renewMs);
    if (!lease) return closed;
    const signal = AbortSignal.any([this.#stopping.signal, lease.lost]);
    try {
      await this.#prepare(signal);
      for (const { source, kept } of this.#sources())
        await this.#closeAll(source, newestDue(now, kept), { closed, signal });
      await this.#requireExactLedger(signal);
    } catch (error) {
      if (!this.#stopping.signal.aborted) throw error;
    } finally {
      await lease.end();
    }
    return closed;
  }

  /** Ends a run after its current slice, or at once while it verifies the ledger; the next run continues there. */
  stop(): void {
    this.#stopping.abort();
  }

  /** The database's time: the clock of a machine may be in the next month. */
  async #now(): Promise<Date> {
    return new Date(await readDatabaseTime(this.#dependencies.database));
  }

  #sources(): readonly { readonly source: ClosingSource; readonly kept: number }[] {
    const { requestsMonths, ledgerMonths } = this.#dependencies.policy;
    return [
      { source: REQUESTS_SOURCE, kept: requestsMonths },
      { source: LEDGER_SOURCE, kept: ledgerMonths },
    ].flatMap(({ source, kept }) => (kept === undefined ? [] : [{ source, kept }]));
  }

  /** What is removed must be verified and, if it is usage, in the sums of usage. */
  async #prepare(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await this.#dependencies.rollups.sweep(1, signal);
    await this.#requireExactLedger(signal);
  }

  async #requireExactLedger(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    // A verification of every row takes long, and has written nothing that a process which stops must wait for.
    const faults = await Promise.race([this.#dependencies.ledger.findFaults(), rejectionOf(signal)]);
    const [first] = faults;
    if (first)
      throw new Error(
        `nothing more is removed, as the ledger has ${faults.length} faults (npm run ledger:verify): ${first.fault}: ${first.subject}`,
      );
  }

  async #closeAll(
    source: ClosingSource,
    newest: Month,
    { closed, signal }: { readonly closed: CountedMonth[]; readonly signal: AbortSignal },
  ): Promise<void> {
    const { database, policy, log, observer } = this.#dependencies;
    const { kind } = source;
    const maintenance =
      database.folder === undefined ? undefined : new EmbeddedMaintenance(database, database.folder, log);
    const closer = new MonthCloser(source, {
      ...{ database, folder: policy.folder, processId: this.#processId, signal },
      maintain: maintenance && (() => maintenance.maintain()),
      onRemoved: (rows) => observer?.rowsRemoved(kind, rows),
    });
    for (;;) {
      const month = await this.#nextMonth(source);
      if (month === undefined || month > newest) return;
      const startedMs = performance.now();
      const last = (await listClosedMonths(database, kind)).at(-1);
      const closing = last?.state === "removing" ? last : await closer.archive(month, last);
      await closer.remove(closing);
      const { rows, archive } = closing;
      log.info({ kind, month, rows, archive, durationMs: performance.now() - startedMs }, "closed a month");
      closed.push({ kind, month, rows });
    }
  }

  /** The month to close next, which may not be due yet; undefined if there are no rows. */
  async #nextMonth(source: ClosingSource): Promise<Month | undefined> {
    const { database } = this.#dependencies;
    const last = (await listClosedMonths(database, source.kind)).at(-1);
    if (last) return last.state === "removing" ? last.month : addMonths(last.month, 1);
    const oldest = await source.oldest(database);
    return oldest && monthOf(oldest);
  }
}

/** Rejects with the reason of a signal once it aborts. */
function rejectionOf(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
