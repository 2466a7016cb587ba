import { type FileHandle, open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { PeriodicTask } from "../../kernel/async/periodic-task.ts";
import type { Logger } from "../../kernel/log.ts";
import type { Database } from "../database.ts";

const EVERY_MS = 10_000;
/** Write-ahead log after which a checkpoint is made, which takes about 0.2 s. */
const CHECKPOINT_BYTES = 32 * 1_048_576;
/** PostgreSQL's defaults for autovacuum, also for the visibility of new rows, which index-only scans need. */
const VACUUM = { rows: 50, share: 0.2, newRows: 1_000, newShare: 0.2 } as const;
const ANALYZE = { rows: 50, share: 0.1 } as const;
/** A longer command is logged, as all statements wait for it. */
const LONG_MS = 1_000;

/**
 * The routine maintenance of the embedded database, for which a server has background processes, and PGlite none:
 * without it the write-ahead log, dead rows and the planner's ignorance grow until the process ends, and beyond.
 */
export class EmbeddedMaintenance {
  readonly #database: Pick<Database, "pool">;
  readonly #folder: string;
  readonly #log: Logger;
  #isStopped = false;
  readonly #rounds = new PeriodicTask({
    everyMs: EVERY_MS,
    work: () => this.maintain(),
    failed: (error) => this.#log.error({ err: error }, "maintaining the embedded database failed"),
  });

  /** `folder` is PostgreSQL's own. */
  constructor(database: Pick<Database, "pool">, folder: string, log: Logger) {
    this.#database = database;
    this.#folder = folder;
    this.#log = log;
  }

  /** Maintains the database every 10 s until `stop`. */
  start(): void {
    this.#rounds.start({ isLater: true });
  }

  /** Stops; resolves when the current command has ended. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#rounds.stop();
  }

  /** Vacuums and analyzes the tables that need it, and makes a checkpoint if enough was written since the last one. */
  async maintain(): Promise<void> {
    const { rows } = await this.#database.pool.query<{ command: string }>(DUE);
    for (const { command } of rows) await this.#run(command);
    const { rows: sizes } = await this.#database.pool.query<{ bytes: number }>(WRITTEN);
    if ((sizes[0]?.bytes ?? 0) < CHECKPOINT_BYTES) return;
    await this.#run("checkpoint");
    await flush(this.#folder);
  }

  async #run(command: string): Promise<void> {
    if (this.#isStopped) return;
    const startedMs = performance.now();
    await this.#database.pool.query(command);
    const durationMs = performance.now() - startedMs;
    if (durationMs >= LONG_MS)
      this.#log.info({ command, durationMs }, "all statements waited for maintenance");
  }
}

/**
 * Flushes the files of a database to the disk, which PGlite never does: the control file last, since after a power
 * failure it must not name a checkpoint whose pages were not written yet. The system itself writes a file about 30 s
 * after its change.
 */
async function flush(folder: string): Promise<void> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
  const control = join(folder, "global/pg_control");
  for (const path of [...paths.filter((path) => path !== control), control]) {
    let file: FileHandle | undefined;
    try {
      file = await open(path, "r");
      await file.sync();
    } catch (error) {
      // A table that was dropped, or a segment that was recycled meanwhile.
      if (Object(error).code !== "ENOENT") throw error;
    } finally {
      await file?.close();
    }
  }
}

const WRITTEN = `
  select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), redo_lsn)::float8 as bytes from pg_control_checkpoint()`;

const DUE = `
  select case when not is_dirty then 'analyze ' when is_unknown then 'vacuum analyze ' else 'vacuum ' end || name
    as command
  from (
    select relid::regclass::text as name,
      n_dead_tup > ${VACUUM.rows} + ${VACUUM.share} * n_live_tup
        or n_ins_since_vacuum > ${VACUUM.newRows} + ${VACUUM.newShare} * n_live_tup as is_dirty,
      n_mod_since_analyze > ${ANALYZE.rows} + ${ANALYZE.share} * n_live_tup as is_unknown
    from pg_stat_user_tables
  ) as t
  where is_dirty or is_unknown
  order by name`;
