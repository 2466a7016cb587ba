import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { startPostgres, type TestServer } from "../support/servers/postgres.ts";

const NOBODY = 65_534;
const run = promisify(execFile);

/**
 * The tests' PostgreSQL, restarted as an operator would run it: every commit is on the disk before it is
 * answered (the tests switch `fsync` off), and the cost of statements is counted.
 */
export async function startDurablePostgres(): Promise<TestServer> {
  const { url } = await startPostgres();
  const data = await dataDirectory(url);
  const home = dirname(data);
  const settings = {
    listen_addresses: "127.0.0.1",
    port: new URL(url).port,
    unix_socket_directories: "",
    fsync: "on",
    shared_preload_libraries: "pg_stat_statements",
    "pg_stat_statements.track_planning": "on",
    max_connections: 100,
  };
  const flags = Object.entries(settings).map(([name, value]) => `-c ${name}='${value}'`);
  const control = async (...command: readonly string[]) => {
    const who = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
    await run(join(home, "native/bin/pg_ctl"), [...command, "-D", data, "-w", "-m", "fast", "-s"], {
      ...who,
      cwd: home,
    });
  };
  await control("restart", "-l", join(home, "log"), "-o", flags.join(" "));
  return {
    url,
    async stop() {
      await control("stop");
      await rm(home, { recursive: true, force: true });
    },
  };
}

async function dataDirectory(url: string): Promise<string> {
  const client = new pg.Client(url);
  await client.connect();
  const { rows } = await client.query<{ data_directory: string }>("show data_directory");
  await client.end();
  const [row] = rows;
  if (!row) throw new Error("PostgreSQL does not say where its data are");
  return row.data_directory;
}
