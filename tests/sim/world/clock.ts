import type { Database } from "../../../src/db/database.ts";
import type { WaitingClock } from "../../../src/kernel/clock.ts";

/** Simulated time, for the processes and for the database alike. */
export class SimClock implements WaitingClock {
  #nowMs = 0;
  #isTold = false;
  #isOverridden = true;
  #sleepers: { readonly untilMs: number; wake(): void }[] = [];
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  now(): Date {
    return new Date(this.#nowMs);
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  set(at: Date): void {
    this.#nowMs = at.getTime();
    this.#isTold = false;
    this.#sleepers = [];
  }

  /** Every sleep lasts until the simulation has reached that time. */
  sleep(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (ms <= 0 || signal.aborted) return resolve();
      const sleeper = { untilMs: this.#nowMs + ms, wake: resolve };
      this.#sleepers.push(sleeper);
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
  }

  advance(ms: number): void {
    this.#nowMs += ms;
    this.#isTold = false;
    const sleepers = this.#sleepers;
    this.#sleepers = sleepers.filter(({ untilMs }) => untilMs > this.#nowMs);
    for (const sleeper of sleepers) if (sleeper.untilMs <= this.#nowMs) sleeper.wake();
  }

  /** The database has lost its settings, as PGlite does when a function raises an error. */
  forget(): void {
    this.#isTold = false;
    this.#isOverridden = false;
  }

  /** Sets the time of the database; called before every statement. */
  async tell(): Promise<void> {
    if (this.#isTold) return;
    this.#isTold = true;
    if (!this.#isOverridden) await this.#database.rows(OVERRIDE);
    this.#isOverridden = true;
    await this.#database.rows(`set sim.now = '${this.now().toISOString()}'`);
  }
}

/** A timer by the simulation's time, with the methods of Node's. Without a time it never ends. */
export class SimTimer {
  readonly #clock: SimClock;
  readonly #ms: number | undefined;
  readonly #callback: () => void;
  #waiting = new AbortController();

  constructor(clock: SimClock, ms: number | undefined, callback: () => void) {
    this.#clock = clock;
    this.#ms = ms;
    this.#callback = callback;
    this.refresh();
  }

  /** Begins anew. */
  refresh(): this {
    this.end();
    this.#waiting = new AbortController();
    const { signal } = this.#waiting;
    if (this.#ms !== undefined)
      void this.#clock.sleep(Math.max(1, this.#ms), signal).then(() => signal.aborted || this.#callback());
    return this;
  }

  end(): void {
    this.#waiting.abort();
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }
}

/**
 * Makes `now()` in every later statement of this connection, and in every column default, the simulation's: a
 * schema before `pg_catalog` in the search path has a function of that name.
 */
export async function overrideNow(database: Database): Promise<void> {
  await database.rows("create schema sim");
  await database.rows(
    `create function sim.now() returns timestamptz language sql stable
     as $$ select current_setting('sim.now')::timestamptz $$`,
  );
  await database.rows(TAKE_DEFAULTS);
  await database.rows(OVERRIDE);
}

const OVERRIDE = "set search_path = sim, pg_catalog, public";

const TAKE_DEFAULTS = `
  do $$
  declare c record;
  begin
    for c in select table_name, column_name from information_schema.columns
      where table_schema = 'public' and column_default = 'now()'
    loop
      execute format('alter table public.%I alter column %I set default sim.now()', c.table_name, c.column_name);
    end loop;
  end $$`;
