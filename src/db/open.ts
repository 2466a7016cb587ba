import { join } from "node:path";
import type { MikroORM, Options } from "@mikro-orm/core";
import { Migrator } from "@mikro-orm/migrations";
import { StartupError } from "../kernel/errors.ts";
import { Database } from "./database.ts";
import { entities } from "./entities.ts";
import { lockFolder } from "./lock.ts";
import { migrations } from "./migrations/index.ts";
import { ServerReads } from "./server-reads.ts";
import { ServerWatch } from "./server-watch.ts";
import { limitStatements } from "./statement-timeout.ts";
import { copyTemplate } from "./template.ts";

/**
 * Where the data lives: a PostgreSQL server, a folder of this machine, or nowhere (`memory`, for tests, which may load
 * a dump that PGlite made before).
 */
export type DatabaseConfig =
  | ServerConfig
  | { readonly kind: "folder"; readonly path: string }
  | { readonly kind: "memory"; readonly loadDataDir?: Blob };

/**
 * A PostgreSQL server. `statementTimeoutMs` limits every statement but expensive reads, which have `readPoolSize`
 * connections of their own and `readTimeoutMs`; 0 is no limit.
 */
type ServerConfig = {
  readonly kind: "server";
  readonly url: string;
  readonly poolSize: number;
  readonly readPoolSize?: number;
  readonly statementTimeoutMs?: number;
  readonly readTimeoutMs?: number;
};

/** Processes that start together on one server migrate one after the other. */
const MIGRATION_LOCK = 7_260_814_003n;
/** Until a connection of the pool is there, also when all are in use (promises F46). */
const CONNECT_MS = 4_000;
/** What the settings of the same names are, where nobody sets them. */
const DEFAULT_STATEMENT_TIMEOUT_MS = 30_000;
const DEFAULT_READ_TIMEOUT_MS = 5_000;
const DEFAULT_READ_POOL_SIZE = 2;

/**
 * Opens the database and brings its schema up to date. Throws `StartupError` for a folder that another process uses
 * and for a server that cannot be reached.
 */
export function openDatabase(config: DatabaseConfig): Promise<Database> {
  return config.kind === "server" ? openServer(config) : openEmbedded(config);
}

async function openServer(config: ServerConfig): Promise<Database> {
  const { MikroORM: Server } = await import("@mikro-orm/postgresql");
  const orm = await Server.init({
    ...common(),
    clientUrl: config.url,
    pool: { min: 0, max: config.poolSize },
    driverOptions: { connectionTimeoutMillis: CONNECT_MS },
  });
  try {
    const pool = await orm.em.getConnection().getNativeClient();
    const session = await pool.connect();
    try {
      await session.query("select pg_advisory_lock($1)", [MIGRATION_LOCK]);
      await orm.migrator.up();
      await session.query("select pg_advisory_unlock($1)", [MIGRATION_LOCK]);
    } finally {
      session.release();
    }
    // A connection that breaks while nobody uses it is taken out by the pool itself.
    pool.on("error", () => {});
    // Not before: a migration of a large table takes as long as it takes.
    await limitStatements(pool, config.statementTimeoutMs ?? DEFAULT_STATEMENT_TIMEOUT_MS);
    const watch = new ServerWatch(pool, config.url);
    const reads = new ServerReads(
      {
        url: config.url,
        poolSize: config.readPoolSize ?? DEFAULT_READ_POOL_SIZE,
        connectMs: CONNECT_MS,
        timeoutMs: config.readTimeoutMs ?? DEFAULT_READ_TIMEOUT_MS,
      },
      watch,
    );
    return new Database(orm as unknown as MikroORM, { pool, watch, reads });
  } catch (cause) {
    await orm.close(true);
    const { host, pathname } = new URL(config.url);
    const why = cause instanceof Error ? cause.message || String(cause) : String(cause);
    throw new StartupError(`DATABASE_URL: ${host}${pathname} cannot be used (${why})`, { cause });
  }
}

async function openEmbedded(config: Exclude<DatabaseConfig, { kind: "server" }>): Promise<Database> {
  const lock = config.kind === "folder" ? lockFolder(config.path) : undefined;
  const release = () => lock?.release();
  try {
    const { MikroORM: Embedded } = await import("@mikro-orm/pglite");
    const dbName = config.kind === "folder" ? join(config.path, "postgres") : "memory://";
    if (config.kind === "folder") copyTemplate(dbName);
    const dump = config.kind === "memory" && config.loadDataDir;
    const orm = await Embedded.init({
      ...common(),
      dbName,
      // A function, because MikroORM clones plain options and a clone of a Blob is none.
      ...(dump ? { driverOptions: () => ({ loadDataDir: dump }) } : {}),
    });
    await orm.migrator.up();
    // Else every other look-up of a file was planned anew, which took longer than the look-up: 1.6 ms, now 0.7.
    await orm.em.getConnection().execute("set plan_cache_mode = force_generic_plan");
    return new Database(orm as unknown as MikroORM, { onClose: release });
  } catch (error) {
    release();
    throw error;
  }
}

function common(): Pick<
  Options,
  "entities" | "extensions" | "migrations" | "logger" | "forceUtcTimezone" | "ensureDatabase"
> {
  return {
    entities: [...entities],
    extensions: [Migrator],
    migrations: { migrationsList: [...migrations], snapshot: false, silent: true },
    forceUtcTimezone: true,
    ensureDatabase: false,
    logger: () => {},
  };
}
