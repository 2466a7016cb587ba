import { join } from "node:path";
import type { MikroORM, Options } from "@mikro-orm/core";
import { Migrator } from "@mikro-orm/migrations";
import { InferenceRequestRow } from "../inference/request.row.ts";
import { ApiKeyRow } from "../keys/api-key.row.ts";
import { ManagementKeyRow } from "../keys/management-key.row.ts";
import { Database } from "./database.ts";
import { lockFolder } from "./lock.ts";
import { migrations } from "./migrations/index.ts";

/** Where the data lives: a PostgreSQL server, a folder of this machine, or nowhere (`memory`, for tests, which may start
 * from a dump of PGlite's `dumpDataDir`). */
export type DatabaseConfig =
  | { readonly kind: "server"; readonly url: string; readonly poolSize: number }
  | { readonly kind: "folder"; readonly path: string }
  | { readonly kind: "memory"; readonly loadDataDir?: Blob };

const entities = [ApiKeyRow, ManagementKeyRow, InferenceRequestRow];

/** Opens the database and brings its schema up to date. Throws `FolderInUse` for a folder that is taken. */
export async function openDatabase(config: DatabaseConfig): Promise<Database> {
  const database = await (config.kind === "server" ? openServer(config) : openEmbedded(config));
  try {
    await database.orm.migrator.up();
  } catch (error) {
    await database.close();
    throw error;
  }
  return database;
}

async function openServer(config: { url: string; poolSize: number }): Promise<Database> {
  const { MikroORM: Server } = await import("@mikro-orm/postgresql");
  const orm = await Server.init({
    ...common(),
    clientUrl: config.url,
    pool: { min: 0, max: config.poolSize },
    driverOptions: { connectionTimeoutMillis: 5_000 },
  });
  return new Database(orm as unknown as MikroORM, { pool: await orm.em.getConnection().getNativeClient() });
}

async function openEmbedded(config: { kind: "folder"; path: string } | { kind: "memory" }): Promise<Database> {
  const lock = config.kind === "folder" ? lockFolder(config.path) : undefined;
  const release = () => lock?.release();
  try {
    const { MikroORM: Embedded } = await import("@mikro-orm/pglite");
    const dbName = config.kind === "folder" ? join(config.path, "postgres") : "memory://";
    const orm = await Embedded.init({ ...common(), dbName });
    return new Database(orm as unknown as MikroORM, { onClose: release });
  } catch (error) {
    release();
    throw error;
  }
}

function common(): Pick<Options, "entities" | "extensions" | "migrations" | "logger" | "forceUtcTimezone"> {
  return {
    entities,
    extensions: [Migrator],
    migrations: { migrationsList: [...migrations], snapshot: false, silent: true },
    forceUtcTimezone: true,
    logger: () => {},
  };
}
