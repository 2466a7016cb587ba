import { execFile } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { until } from "../until.ts";
import type { OnEnd } from "./database.ts";
import { freePort, launchPostgres, type PostgresProcess, preparePostgres } from "./postgres.ts";

/** A primary and its streaming standby. Ports stay the same when servers change roles. */
export type ReplicatedPostgres = {
  readonly primary: ReplicatedServer;
  readonly standby: ReplicatedServer;
  /** Makes the standby a primary, and waits until it accepts writes. */
  promote(): Promise<void>;
  /** An address that lists both, the primary first, of this database. */
  url(database?: string): string;
};

/** One of both servers. */
type ReplicatedServer = {
  readonly port: number;
  end(signal: "SIGINT" | "SIGQUIT" | "SIGKILL"): Promise<void>;
  /** Starts it again on its data. A primary then waits for no standby. */
  restart(): Promise<void>;
  /** Runs one statement in its own session. */
  rows<Row extends object>(sql: string, database?: string): Promise<readonly Row[]>;
};

/** Starts both. With `synchronous`, a commit is acknowledged when the standby has written it to its disk. */
export async function startReplicatedPostgres(
  onEnd: OnEnd,
  { synchronous = false } = {},
): Promise<ReplicatedPostgres> {
  const files = await preparePostgres();
  const { home, data, who } = files;
  const running = new Map<number, PostgresProcess>();
  onEnd(async () => {
    await Promise.all([...running.values()].map((server) => server.end("SIGQUIT")));
    rmSync(home, { recursive: true, force: true });
  });
  const [port, standbyPort] = [await freePort(), await freePort()];
  const launch = async (folder: string, on: number, settings: Readonly<Record<string, string>> = {}) =>
    running.set(on, await launchPostgres(files, folder, on, settings));
  const standbyData = join(home, "standby");
  // The files of a server that has stopped are a base backup.
  await promisify(execFile)("cp", ["-a", data, standbyData], who);
  writeFileSync(join(standbyData, "standby.signal"), "");
  await launch(data, port, synchronous ? { synchronous_standby_names: "*" } : {});
  const following = {
    primary_conninfo: `host=127.0.0.1 port=${port} user=postgres application_name=standby`,
  };
  await launch(standbyData, standbyPort, following);
  const server = (folder: string, on: number, settings = {}): ReplicatedServer => ({
    port: on,
    end: async (signal) => running.get(on)?.end(signal),
    restart: async () => void (await launch(folder, on, settings)),
    rows: (sql, database = "postgres") => query(on, database, sql),
  });
  const primary = server(data, port);
  await until(async () => {
    const [row] = await primary.rows<{ state: string }>("select state from pg_stat_replication");
    return row?.state === "streaming";
  });
  const url = (database = "postgres") =>
    `postgresql://postgres@127.0.0.1:${port},127.0.0.1:${standbyPort}/${database}`;
  const standby = server(standbyData, standbyPort, following);
  return { primary, standby, promote: () => until(() => promote(standby)), url };
}

/** Fails until it has happened. A session that waited for it could be ended by what is still being replayed. */
async function promote(standby: ReplicatedServer): Promise<void> {
  await standby.rows("select pg_promote(wait => false) where pg_is_in_recovery()");
  await standby.rows("select 1 / (not pg_is_in_recovery())::int");
}

async function query<Row extends object>(port: number, database: string, sql: string): Promise<Row[]> {
  const client = new pg.Client({ host: "127.0.0.1", port, user: "postgres", database });
  client.on("error", () => {});
  await client.connect();
  return client
    .query<Row>(sql)
    .then(({ rows }) => rows)
    .finally(() => client.end());
}
