import { readFileSync } from "node:fs";
import { checkServerIdentity, getCACertificates } from "node:tls";
import type { ClientConfig } from "pg";
import { StartupError } from "../kernel/errors.ts";

/** How to reach a PostgreSQL server, for `pg`. */
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

/** The connection parameters of libpq that are supported, and the values that they may have. */
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

/** What may be written in place of a value that is not supported. */
const HINTS: Readonly<Record<string, string>> = {
  host: "several hosts are not supported; name one that leads to the primary",
  sslmode: "must be disable, require, verify-ca or verify-full; others may connect without encryption",
  channel_binding: "must be disable or prefer; sslmode=verify-full authenticates the server",
  connect_timeout: "must be 1 to 60 seconds",
};

/**
 * Reads a connection URL as libpq does. Throws `StartupError`, naming the parameter, for everything that would not be
 * carried out as it is written: a connection is never weaker than asked for. Files of certificates are read by
 * `serverAddress`.
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

/** The options of `pg` for a connection URL. Throws `StartupError` also for a certificate file that cannot be read. */
export function serverAddress(url: string): ServerAddress {
  const given = parseServerUrl(url);
  const host = given.get("host") ?? "localhost";
  const seconds = Number(given.get("connect_timeout") ?? 0);
  const idleSeconds = Number(given.get("keepalives_idle") ?? 0);
  const ssl = tlsOptions(given, host);
  return {
    host,
    port: Number(given.get("port") ?? 5432),
    ...text(given, "user"),
    ...text(given, "password"),
    ...text(given, "application_name"),
    ...text(given, "fallback_application_name"),
    ...text(given, "options"),
    database: given.get("dbname") ?? "",
    ...(ssl !== undefined && { ssl }),
    ...(given.get("sslnegotiation") === "direct" && { sslnegotiation: "direct" as const }),
    ...(seconds > 0 && { connectionTimeoutMillis: seconds * 1_000 }),
    keepAlive: given.get("keepalives") !== "0",
    ...(idleSeconds > 0 && { keepAliveInitialDelayMillis: idleSeconds * 1_000 }),
  };
}

function text<Name extends keyof ServerAddress>(given: Parameters, name: Name): { [N in Name]?: string } {
  const value = given.get(name);
  return (value === undefined ? {} : { [name]: value }) as { [N in Name]?: string };
}

function requireConsistentTls(given: Parameters): void {
  const mode = modeOf(given);
  const isEncrypted = mode !== undefined && mode !== "disable";
  if (given.has("ssl") && mode === "disable") throw refuse("ssl", "contradicts sslmode=disable");
  if (isEncrypted && given.get("host")?.startsWith("/"))
    throw refuse("sslmode", `${mode} is not possible over a Unix socket`);
  for (const name of ["sslrootcert", "sslcert", "sslkey", "sslpassword", "sslnegotiation"])
    if (given.has(name) && !isEncrypted)
      throw refuse(name, "needs sslmode=require, verify-ca or verify-full");
  if (given.has("sslcert") !== given.has("sslkey")) throw refuse("sslcert", "and sslkey need each other");
  const root = given.get("sslrootcert");
  if (mode === "verify-ca" && root === undefined) throw refuse("sslmode", "verify-ca needs sslrootcert");
  if (root === "system" && mode !== "verify-full")
    throw refuse("sslrootcert", "system needs sslmode=verify-full");
}

/** `require` verifies nothing, except where a root certificate is given: then the chain, as libpq does. */
function tlsOptions(given: Parameters, host: string): ClientConfig["ssl"] {
  const mode = modeOf(given);
  // PGSSLMODE then decides.
  if (mode === undefined) return undefined;
  if (mode === "disable") return false;
  const root = given.get("sslrootcert");
  const isVerified = mode !== "require" || root !== undefined;
  return {
    rejectUnauthorized: isVerified,
    ...(root !== undefined && {
      ca: root === "system" ? getCACertificates("system") : readPem("sslrootcert", root),
    }),
    ...(given.has("sslcert") && {
      cert: readPem("sslcert", given.get("sslcert") ?? ""),
      key: readPem("sslkey", given.get("sslkey") ?? ""),
    }),
    ...(given.has("sslpassword") && { passphrase: given.get("sslpassword") }),
    // Where the host is an IP address, Node would compare the certificate with "localhost".
    checkServerIdentity: (_, certificate) =>
      mode === "verify-full" ? checkServerIdentity(host, certificate) : undefined,
  };
}

function modeOf(given: Parameters): string | undefined {
  return given.get("sslmode") ?? (given.has("ssl") ? "require" : undefined);
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
