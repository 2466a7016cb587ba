import { readFileSync } from "node:fs";
import { checkServerIdentity, getCACertificates } from "node:tls";
import type { Client, ClientConfig } from "pg";
import { StartupError } from "../../kernel/errors.ts";
import { type ServerHost, ServerHosts } from "./server-hosts.ts";
import { parseServerUrl, type ServerUse, sslModeOf } from "./server-url.ts";
import { SessionClient, type SessionConfig } from "./session-client.ts";

/**
 * The connection options of a PostgreSQL server, for `pg`: connections are opened by its `Client`. If there are several
 * hosts, or one that must be a primary, `hosts` has them all, and `host`, `port` and `ssl` are a start.
 */
export type ServerAddress = Pick<
  ClientConfig,
  | "host"
  | "port"
  | "user"
  | "password"
  | "database"
  | "ssl"
  | "sslnegotiation"
  | "application_name"
  | "fallback_application_name"
  | "options"
  | "connectionTimeoutMillis"
  | "keepAlive"
  | "keepAliveInitialDelayMillis"
> &
  Pick<SessionConfig, "session"> & { readonly hosts?: ServerHosts; readonly Client: typeof Client };

type Parameters = ReadonlyMap<string, string>;

/** The setting of each use, for errors. */
const SETTINGS: Readonly<Record<ServerUse, string>> = {
  primary: "DATABASE_URL",
  replica: "DATABASE_REPLICA_URL",
};

/** The `pg` options for a connection URL. Throws `StartupError`, also for a certificate file that cannot be read. */
export function serverAddress(url: string, use: ServerUse = "primary"): ServerAddress {
  const { hosts, target, parameters } = parseServerUrl(url, use);
  const seconds = Number(parameters.get("connect_timeout") ?? 0);
  const idleSeconds = Number(parameters.get("keepalives_idle") ?? 0);
  const tls = tlsOptions(parameters, SETTINGS[use]);
  const all: readonly ServerHost[] = hosts.map(({ host, port }) => ({ host, port, ...tls(host) }));
  const several = all.length > 1 || target !== "any" ? new ServerHosts(all, target) : undefined;
  return {
    ...all[0],
    ...text(parameters, "user"),
    ...text(parameters, "password"),
    ...text(parameters, "application_name"),
    ...text(parameters, "fallback_application_name"),
    ...text(parameters, "options"),
    database: parameters.get("dbname") ?? "",
    ...(parameters.get("sslnegotiation") === "direct" && { sslnegotiation: "direct" as const }),
    ...(seconds > 0 && { connectionTimeoutMillis: seconds * 1_000 }),
    keepAlive: parameters.get("keepalives") !== "0",
    ...(idleSeconds > 0 && { keepAliveInitialDelayMillis: idleSeconds * 1_000 }),
    ...(several && { hosts: several }),
    Client: several?.Client ?? SessionClient,
  };
}

/** A connection of its own, not open yet. Its errors reject what waits for it, and are otherwise ignored. */
export function newClient(address: ServerAddress, limits: ClientConfig = {}): Client {
  const client = new address.Client({ ...address, ...limits });
  return client.on("error", () => {});
}

/** The hosts and the database, for errors. */
export function nameOf({ hosts, host, port, database = "" }: ServerAddress): string {
  const names = (hosts?.all ?? [{ host, port }]).map((one) => `${one.host}:${one.port}`);
  return `${names.join(",")}/${database}`;
}

function text<Name extends keyof ServerAddress>(
  parameters: Parameters,
  name: Name,
): { [N in Name]?: string } {
  const value = parameters.get(name);
  return (value === undefined ? {} : { [name]: value }) as { [N in Name]?: string };
}

/** By host. Like libpq, `require` verifies nothing, unless a root certificate is given: then it verifies the chain. */
function tlsOptions(parameters: Parameters, setting: string): (host: string) => Pick<ServerHost, "ssl"> {
  const mode = sslModeOf(parameters);
  // PGSSLMODE then decides.
  if (mode === undefined) return () => ({});
  if (mode === "disable") return () => ({ ssl: false });
  const root = parameters.get("sslrootcert");
  const readPem = (name: string) => readFile(setting, name, parameters.get(name) ?? "");
  const options = {
    rejectUnauthorized: mode !== "require" || root !== undefined,
    ...(root !== undefined && {
      ca: root === "system" ? getCACertificates("system") : readPem("sslrootcert"),
    }),
    ...(parameters.has("sslcert") && { cert: readPem("sslcert"), key: readPem("sslkey") }),
    ...(parameters.has("sslpassword") && { passphrase: parameters.get("sslpassword") }),
  };
  return (host) => ({
    ssl: {
      ...options,
      // If the host is an IP address, Node would compare the certificate with "localhost".
      checkServerIdentity: (_, certificate) =>
        mode === "verify-full" ? checkServerIdentity(host, certificate) : undefined,
    },
  });
}

function readFile(setting: string, parameter: string, path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw new StartupError(
      `${setting}: ${parameter}: ${path} cannot be read (${(cause as NodeJS.ErrnoException).code}).`,
      { cause },
    );
  }
}
