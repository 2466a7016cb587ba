import type { WaitingClock } from "../kernel/clock.ts";
import type { Logger } from "../kernel/log.ts";
import type { Queries } from "./database.ts";

/** A process whose clock differs by more from the database's is reported. */
const MAX_OFFSET_MS = 5_000;

/**
 * The database's time, which is the same in every process and does not move with a wrong clock of this machine: it is
 * counted by the monotonic clock from the last time that the database returned. Before the first one, and with the
 * embedded database, which has no other clock, it is the process's own time.
 */
export class DatabaseClock implements WaitingClock {
  readonly #process: WaitingClock;
  readonly #log: Logger;
  /** The database's time when `performance.now()` was 0. */
  #startMs: number | undefined;
  #isOff = false;

  constructor(process: WaitingClock, log: Logger) {
    this.#process = process;
    this.#log = log;
  }

  now(): Date {
    return this.#startMs === undefined ? this.#process.now() : new Date(this.#startMs + performance.now());
  }

  monotonicMs(): number {
    return this.#process.monotonicMs();
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    return this.#process.sleep(ms, signal);
  }

  /** How far the process's own clock is ahead of the database's, milliseconds; negative if it is behind. */
  offsetMs(): number {
    return this.#process.now().getTime() - this.now().getTime();
  }

  /**
   * Follows the database's time, which `read` gets in Unix milliseconds. It was that while `read` ran: the time is only
   * corrected if it could not have been, so that a slow response moves nothing.
   */
  async follow(read: () => Promise<number>): Promise<void> {
    const sentMs = performance.now();
    const databaseMs = await read();
    const [earliest, latest] = [databaseMs - performance.now(), databaseMs - sentMs];
    this.#startMs = Math.min(Math.max(this.#startMs ?? (earliest + latest) / 2, earliest), latest);
    this.#report();
  }

  /** Once when the process's clock is off, and once when it is right again: well below the limit, not around it. */
  #report(): void {
    const offsetMs = this.offsetMs();
    const isOff = Math.abs(offsetMs) > (this.#isOff ? MAX_OFFSET_MS / 2 : MAX_OFFSET_MS);
    if (isOff === this.#isOff) return;
    this.#isOff = isOff;
    const facts = { offsetSeconds: Math.round(offsetMs) / 1_000 };
    if (isOff)
      this.#log.warn(facts, "the clock of this machine differs from the database's: check its time service");
    else this.#log.info(facts, "the clock of this machine agrees with the database's again");
  }
}

/** The database's time as Unix milliseconds. */
export async function readDatabaseTime(queries: Queries): Promise<number> {
  const [row] = await queries.rows<{ now_ms: string }>(`select ${NOW_MS}`);
  return Number(row?.now_ms);
}

/** The time at which a statement is executed, as a column `now_ms`. */
export const NOW_MS = "(extract(epoch from clock_timestamp()) * 1000)::text as now_ms";
