import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Options } from "@mikro-orm/core";
import { Migrator } from "@mikro-orm/migrations";
import type { Pool } from "pg";
import { StartupError } from "../kernel/errors.ts";
import type { Logger } from "../kernel/log.ts";
import { Database } from "./database.ts";
import { failureText } from "./embedded/failure-text.ts";
import { limitWaiting } from "./embedded/limit-waiting.ts";
import { lockFolder } from "./embedded/lock.ts";
import { EmbeddedPostgres, type PostgresSession } from "./embedded/postgres.ts";
import { PostgresSocket } from "./embedded/postgres-socket.ts";
import { PostgresSupervisor } from "./embedded/postgres-supervisor.ts";
import { copyTemplate } from "./embedded/template.ts";
import { entities } from "./entities.ts";
import { migrate } from "./migrate.ts";
import { migrations } from "./migrations/index.ts";
import { noteConnectFailures } from "./server/connect-failures.ts";
import { ReadPool } from "./server/read-pool.ts";
import { Replica } from "./server/replica.ts";
import { nameOf, type ServerAddress, serverAddress } from "./server/server-address.ts";
import { ServerReads } from "./server/server-reads.ts";
import { ServerWatch } from "./server/server-watch.ts";
import { setSessions } from "./server/session-settings.ts";
import { limitStatements, requireTimeLimits } from "./server/statement-timeout.ts";

/**
 * Where the data is stored: a PostgreSQL server, a folder on this machine (on a worker thread), or memory (for tests:
 * in the calling thread, or in the given session).
 */
export type DatabaseConfig =
  | ServerConfig
  | { readonly kind: "folder"; readonly path: string }
  | { readonly kind: "memory"; readonly session?: PostgresSession };

/**
 * A PostgreSQL server. `statementTimeoutMs` limits every statement except expensive reads, which have `readPoolSize`
 * separate connections and `readTimeoutMs`; 0 for no limit. Such reads use the server at `replicaUrl`, a streaming
 * standby, while it lags by at most `maxReplicaLagMs`. Behind a `pooler` in transaction mode connections have no
 * state: neither prepared statements nor settings. A server that takes longer than `patienceMs` to accept a connection
 * or to answer a probe counts as unavailable; by default 4 s and 2 s.
 */
type ServerConfig = {
  readonly kind: "server";
  readonly url: string;
  readonly poolSize: number;
  readonly readPoolSize?: number;
  readonly statementTimeoutMs?: number;
  readonly readTimeoutMs?: number;
  readonly replicaUrl?: string | undefined;
  readonly maxReplicaLagMs?: number;
  readonly pooler?: "none" | "transaction";
  readonly patienceMs?: number;
  /** Where it is logged why connections cannot be opened. */
  readonly log?: Logger | undefined;
};

/** Deadline to get a connection of the pool, also if all are in use (promises F46). */
const CONNECT_MS = 4_000;
/** The same while the process starts: a server that is slow for a moment need not end it. */
const START_CONNECT_MS = 15_000;
/**
 * How long an idle connection of the pool stays open. PostgreSQL plans a statement anew for its first five
 * executions per connection, which takes longer than executing it: with the pool's default of 10 s, the statements of nearly
 * every chat of a quiet process were planned.
 */
const IDLE_MS = 300_000;
/** Of a replica, after which the primary is read from. */
const REPLICA_CONNECT_MS = 1_000;
/** Maximum wait of a statement for the embedded database's only connection. */
const MAX_WAIT_MS = 15_000;
/** Maximum queue for that connection. */
const MAX_WAITING = { maxStatements: 20_000, maxCharacters: 256 * 1_048_576 } as const;
/** A statement of the embedded database that takes longer is terminated together with its thread. */
const MAX_STATEMENT_MS = 60_000;
/** The defaults of the settings of the same names. */
const DEFAULT_STATEMENT_TIMEOUT_MS = 30_000;
const DEFAULT_READ_TIMEOUT_MS = 5_000;
const DEFAULT_READ_POOL_SIZE = 2;
const DEFAULT_REPLICA_LAG_MS = 10_000;

/**
 * Opens the database and migrates its schema. Throws `StartupError` for a folder that another process uses or that is
 * not writable, and for an unreachable server; with `mustExist`, also for a folder or a server without a database of
 * zerograph, in which nothing is created then.
 */
export async function openDatabase(
  config: DatabaseConfig,
  { mustExist = false }: { readonly mustExist?: boolean } = {},
): Promise<Database> {
  if (config.kind === "server") return openServer(config, mustExist);
  if (config.kind === "folder") return openFolder(config.path, mustExist);
  return openSession(config.session ?? (await EmbeddedPostgres.open({ dataDir: "memory://" })));
}

async function openServer(config: ServerConfig, mustExist: boolean): Promise<Database> {
  const { connectionTimeoutMillis: statedMs = config.patienceMs, ...server } = serverAddress(config.url);
  const address = { ...server, connectionTimeoutMillis: statedMs ?? CONNECT_MS };
  const starting = { ...server, connectionTimeoutMillis: statedMs ?? START_CONNECT_MS };
  // Read first: its errors name its own setting.
  const replicaAddress = config.replicaUrl !== undefined && {
    connectionTimeoutMillis: config.patienceMs ?? REPLICA_CONNECT_MS,
    ...serverAddress(config.replicaUrl, "replica"),
  };
  const { MikroORM: Server } = await import("@mikro-orm/postgresql");
  const orm = await Server.init({
    ...common(),
    dbName: String(address.database),
    // The whole address: from a URL the ORM reads only the host, port, user, password and database name.
    driverOptions: {
      ...{ user: "", password: "", ...starting, min: 0, max: config.poolSize },
      idleTimeoutMillis: IDLE_MS,
    },
  });
  try {
    const pool = await orm.em.getConnection().getNativeClient();
    const { rows } = await pool.query<{ name: string }>("select current_database() as name");
    // A pooler may use another name for the database, under which the ORM would look for it and create it.
    orm.config.set("dbName", rows[0]?.name ?? "");
    if (mustExist) await requireTables(pool);
    await migrate(orm, config.log);
    // A connection that breaks while it is idle is removed by the pool itself.
    pool.on("error", () => {});
    noteConnectFailures(pool, config.log);
    // Only now: a migration of a large table has no time limit.
    const statementTimeoutMs = config.statementTimeoutMs ?? DEFAULT_STATEMENT_TIMEOUT_MS;
    const isPooled = config.pooler === "transaction";
    if (!isPooled) {
      await requireTimeLimits(starting, statementTimeoutMs);
      await limitStatements(pool, statementTimeoutMs);
    }
    const session = await setSessions(pool, starting, isPooled);
    pool.options.connectionTimeoutMillis = address.connectionTimeoutMillis;
    const watch = new ServerWatch(pool, address, config.patienceMs);
    const reads = openReads(config, { address, replicaAddress, pool, watch, session });
    return new Database(orm, {
      ...{ pool, watch, reads },
      ...(isPooled && { pooled: { statementTimeoutMs } }),
    });
  } catch (cause) {
    await orm.close(true);
    const why = cause instanceof Error ? cause.message || String(cause) : String(cause);
    throw new StartupError(`DATABASE_URL: ${nameOf(address)} cannot be used (${why})`, { cause });
  }
}

function openReads(
  config: ServerConfig,
  {
    address,
    replicaAddress,
    pool,
    watch,
    session,
  }: {
    address: ServerAddress;
    replicaAddress: ServerAddress | false;
    pool: Pool;
    watch: ServerWatch;
    session: Pick<ServerAddress, "session">;
  },
): ServerReads {
  const limits = {
    poolSize: config.readPoolSize ?? DEFAULT_READ_POOL_SIZE,
    timeoutMs: config.readTimeoutMs ?? DEFAULT_READ_TIMEOUT_MS,
  };
  const readsOf = (of: ServerAddress) =>
    new ReadPool({ ...of, ...session }, { size: limits.poolSize, timeoutMs: limits.timeoutMs });
  const replica = replicaAddress
    ? new Replica(readsOf(replicaAddress), {
        address: { ...replicaAddress, ...session },
        primary: pool,
        maxLagMs: config.maxReplicaLagMs ?? DEFAULT_REPLICA_LAG_MS,
      })
    : undefined;
  return new ServerReads({ primary: readsOf(address), watch, replica }, limits);
}

/** Throws for a database in which no process of zerograph was ever started. */
async function requireTables(pool: Pool): Promise<void> {
  const { rows } = await pool.query("select to_regclass('mikro_orm_migrations') is not null as exists");
  if (rows[0]?.exists !== true) throw new Error("it has no tables of zerograph");
}

async function openFolder(path: string, mustExist: boolean): Promise<Database> {
  if (mustExist && !existsSync(join(path, "postgres", "PG_VERSION")))
    throw new StartupError(`DATA_DIR: there is no database of zerograph in the folder ${path}.`);
  const lock = lockFolder(path);
  try {
    const folder = join(path, "postgres");
    const supervisor = await openPostgres(folder);
    const database = await openSession(supervisor, { folder, onClose: () => lock.release() });
    supervisor.limitStatements(MAX_STATEMENT_MS);
    return database;
  } catch (error) {
    lock.release();
    throw error;
  }
}

async function openPostgres(dataDir: string): Promise<PostgresSupervisor> {
  try {
    copyTemplate(dataDir);
    return await PostgresSupervisor.open({ dataDir });
  } catch (cause) {
    throw new StartupError(
      `DATA_DIR: the database in ${dataDir} cannot be opened (${failureText(cause)}). Check its owner and its disk, or set DATA_DIR to another folder.`,
      { cause },
    );
  }
}

/** `pg` treats an embedded PostgreSQL like a server with one connection. */
async function openSession(
  session: PostgresSession,
  { folder, onClose = () => {} }: { readonly folder?: string; readonly onClose?: () => void } = {},
): Promise<Database> {
  const { MikroORM: Server } = await import("@mikro-orm/postgresql");
  const orm = await Server.init({
    ...common(),
    dbName: "postgres",
    user: "postgres",
    pool: { min: 1, max: 1, idleTimeoutMillis: 0 },
    driverOptions: {
      stream: () => new PostgresSocket(session),
      ssl: false,
      connectionTimeoutMillis: MAX_WAIT_MS,
    },
  });
  try {
    await orm.migrator.up();
    const pool = await orm.em.getConnection().getNativeClient();
    limitWaiting(pool, MAX_WAITING);
    return new Database(orm, {
      pool,
      ...(folder !== undefined && { folder }),
      onClose: async () => {
        await session.close();
        onClose();
      },
    });
  } catch (error) {
    await orm.close(true);
    await session.close();
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
