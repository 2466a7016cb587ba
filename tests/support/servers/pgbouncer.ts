import { spawn } from "node:child_process";
import { chownSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { until } from "../until.ts";
import type { OnEnd } from "./database.ts";
import { environmentOf, findProgram, type Program } from "./debian-package.ts";
import { freePort } from "./postgres.ts";

const NOBODY = 65_534;

/** A PgBouncer: PGBOUNCER, then PATH, then the distribution's package. Throws when this machine has none. */
export function findPgBouncer(): Promise<Program> {
  return findProgram({
    names: ["pgbouncer"],
    variable: "PGBOUNCER",
    debianPackage: "pgbouncer",
    path: "usr/sbin/pgbouncer",
  });
}

/**
 * Starts one in transaction mode in front of a server of 127.0.0.1 with trust authentication. Its clients share
 * `poolSize` connections. Returns its port.
 */
export async function startPgBouncer(
  program: Program,
  { port: serverPort, poolSize, onEnd }: { port: number; poolSize: number; onEnd: OnEnd },
): Promise<number> {
  const home = mkdtempSync(join(tmpdir(), "pgbouncer-"));
  const port = await freePort();
  const settings = {
    ...{ listen_addr: "127.0.0.1", listen_port: port, unix_socket_dir: "" },
    ...{ auth_type: "any", pool_mode: "transaction", default_pool_size: poolSize, max_client_conn: 200 },
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`);
  const file = join(home, "pgbouncer.ini");
  const target = `* = host=127.0.0.1 port=${serverPort} user=postgres`;
  writeFileSync(file, ["[databases]", target, "[pgbouncer]", ...lines, ""].join("\n"));
  // It refuses to run as root.
  const who = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
  if (who.uid !== undefined) chownSync(home, NOBODY, NOBODY);
  const bouncer = spawn(program.bin, [file], {
    ...who,
    cwd: home,
    env: environmentOf(program),
    stdio: "ignore",
  });
  onEnd(async () => {
    const gone = new Promise((resolve) => bouncer.once("exit", resolve));
    if (bouncer.exitCode === null && bouncer.signalCode === null && bouncer.kill("SIGKILL")) await gone;
    rmSync(home, { recursive: true, force: true });
  });
  await until(async () => {
    const client = new pg.Client({ host: "127.0.0.1", port, user: "postgres", database: "postgres" });
    client.on("error", () => {});
    await client.connect();
    await client.end();
  });
  return port;
}
