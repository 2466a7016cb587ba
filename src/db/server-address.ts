import { readFileSync } from "node:fs";
import { checkServerIdentity, getCACertificates } from "node:tls";
import type { ClientConfig } from "pg";
import { StartupError } from "../kernel/errors.ts";

/** The connection options of a PostgreSQL server, for `pg`. */
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
>;

type Parameters = ReadonlyMap<string, string>;

/** The supported connection parameters of libpq, and their allowed values. */
const PARAMETERS: Readonly<Record<string, RegExp>> = {
  host: /^[^,]+$/,
  port: /^\d{1,5}$/,
  user: /./,
  password: /^/,
  dbname: /./,
  sslmode: /^(?:disable|require|verify-ca|verify-full)$/,
  ssl: /^true$/,
  sslrootcert: /./,
  sslcert: /./,
  sslkey: /./,
  sslpassword: /^/,
  sslnegotiation: /^(?:postgres|direct)$/,
  channel_binding: /^(?:disable|prefer)$/,
  gssencmode: /^(?:disable|prefer)$/,
  target_session_attrs: /^any$/,
  client_encoding: /^(?:utf-?8|auto)$/i,
  application_name: /^/,
  fallback_application_name: /^/,
  options: /^/,
  connect_timeout: /^(?:[1-9]|[1-5]\d|60)$/,
  keepalives: /^[01]$/,
  keepalives_idle: /^\d{1,5}$/,
};

/** Alternatives to an unsupported value. */
const HINTS: Readonly<Record<string, string>> = {
  host: "several hosts are not supported; name one that leads to the primary",
  sslmode: "must be disable, require, verify-ca or verify-full; others may connect without encryption",
  channel_binding: "must be disable or prefer; sslmode=verify-full authenticates the server",
  connect_timeout: "must be 1 to 60 seconds",
};

/**
 * Parses a connection URL like libpq. Throws `StartupError`, naming the parameter, for anything that would not be
 * applied as written: a connection is never weaker than requested. Certificate files are read by `serverAddress`.
 */
export function parseServerUrl(text: string): Parameters {
  if (/^postgres(?:ql)?:\/\/(?:[^@/?#]*@)?[^/?#]*,/.test(text)) throw refuse("host");
  const url = URL.parse(text);
  if (!url || !/^postgres(?:ql)?:$/.test(url.protocol) || url.hash !== "")
    throw new StartupError("must be a PostgreSQL URL, with special characters percent-encoded");
  const parameters = new Map<string, string>();
  for (const [name, value] of url.searchParams) {
    if (!Object.hasOwn(PARAMETERS, name)) throw refuse(name, "is not a supported connection parameter");
    if (parameters.has(name)) throw refuse(name, "is given twice");
    parameters.set(name, value);
  }
  const parts = {
    host: url.hostname.replace(/^\[(.+)\]$/, "$1"),
    port: url.port,
    user: url.username,
    password: url.password,
    dbname: url.pathname.slice(1),
  };
  for (const [name, value] of Object.entries(parts))
    if (value !== "" && !parameters.has(name)) parameters.set(name, decode(name, value));
  for (const [name, value] of parameters) if (!PARAMETERS[name]?.test(value)) throw refuse(name);
  if (!parameters.has("dbname")) throw refuse("dbname", "is missing");
  requireConsistentTls(parameters);
  return parameters;
}

/** The `pg` options for a connection URL. Throws `StartupError`, also for a certificate file that cannot be read. */
export function serverAddress(url: string): ServerAddress {
  const parameters = parseServerUrl(url);
  const host = parameters.get("host") ?? "localhost";
  const seconds = Number(parameters.get("connect_timeout") ?? 0);
  const idleSeconds = Number(parameters.get("keepalives_idle") ?? 0);
  const ssl = tlsOptions(parameters, host);
  return {
    host,
    port: Number(parameters.get("port") ?? 5432),
    ...text(parameters, "user"),
    ...text(parameters, "password"),
    ...text(parameters, "application_name"),
    ...text(parameters, "fallback_application_name"),
    ...text(parameters, "options"),
    database: parameters.get("dbname") ?? "",
    ...(ssl !== undefined && { ssl }),
    ...(parameters.get("sslnegotiation") === "direct" && { sslnegotiation: "direct" as const }),
    ...(seconds > 0 && { connectionTimeoutMillis: seconds * 1_000 }),
    keepAlive: parameters.get("keepalives") !== "0",
    ...(idleSeconds > 0 && { keepAliveInitialDelayMillis: idleSeconds * 1_000 }),
  };
}

function text<Name extends keyof ServerAddress>(
  parameters: Parameters,
  name: Name,
): { [N in Name]?: string } {
  const value = parameters.get(name);
  return (value === undefined ? {} : { [name]: value }) as { [N in Name]?: string };
}

function requireConsistentTls(parameters: Parameters): void {
  const mode = modeOf(parameters);
  const isEncrypted = mode !== undefined && mode !== "disable";
  if (parameters.has("ssl") && mode === "disable") throw refuse("ssl", "contradicts sslmode=disable");
  if (isEncrypted && parameters.get("host")?.startsWith("/"))
    throw refuse("sslmode", `${mode} is not possible over a Unix socket`);
  for (const name of ["sslrootcert", "sslcert", "sslkey", "sslpassword", "sslnegotiation"])
    if (parameters.has(name) && !isEncrypted)
      throw refuse(name, "needs sslmode=require, verify-ca or verify-full");
  if (parameters.has("sslcert") !== parameters.has("sslkey"))
    throw refuse("sslcert", "and sslkey need each other");
  const root = parameters.get("sslrootcert");
  if (mode === "verify-ca" && root === undefined) throw refuse("sslmode", "verify-ca needs sslrootcert");
  if (root === "system" && mode !== "verify-full")
    throw refuse("sslrootcert", "system needs sslmode=verify-full");
}

/** Like libpq, `require` verifies nothing, unless a root certificate is given: then it verifies the chain. */
function tlsOptions(parameters: Parameters, host: string): ClientConfig["ssl"] {
  const mode = modeOf(parameters);
  // PGSSLMODE then decides.
  if (mode === undefined) return undefined;
  if (mode === "disable") return false;
  const root = parameters.get("sslrootcert");
  const isVerified = mode !== "require" || root !== undefined;
  return {
    rejectUnauthorized: isVerified,
    ...(root !== undefined && {
      ca: root === "system" ? getCACertificates("system") : readPem("sslrootcert", root),
    }),
    ...(parameters.has("sslcert") && {
      cert: readPem("sslcert", parameters.get("sslcert") ?? ""),
      key: readPem("sslkey", parameters.get("sslkey") ?? ""),
    }),
    ...(parameters.has("sslpassword") && { passphrase: parameters.get("sslpassword") }),
    // If the host is an IP address, Node would compare the certificate with "localhost".
    checkServerIdentity: (_, certificate) =>
      mode === "verify-full" ? checkServerIdentity(host, certificate) : undefined,
  };
}

function modeOf(parameters: Parameters): string | undefined {
  return parameters.get("sslmode") ?? (parameters.has("ssl") ? "require" : undefined);
}

function readPem(parameter: string, path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw new StartupError(
      `DATABASE_URL: ${parameter}: ${path} cannot be read (${(cause as NodeJS.ErrnoException).code}).`,
      { cause },
    );
  }
}

function decode(name: string, value: string): string {
  try {
    return decodeURIComponent(value);
  } catch (cause) {
    throw new StartupError(`the ${name} must be percent-encoded`, { cause });
  }
}

function refuse(name: string, why = HINTS[name] ?? "has a value that is not supported"): StartupError {
  return new StartupError(`parameter ${name}: ${why}`);
}
