import { StartupError } from "../../kernel/errors.ts";

/** What a server must be to be connected to: `any`, a standby, a primary, or a primary that accepts writes. */
export type ServerTarget = "any" | "standby" | "primary" | "read-write";

/** A connection URL: the servers to try, in order, what they must be, and every other parameter by its name. */
export type ServerUrl = {
  readonly hosts: readonly { readonly host: string; readonly port: number }[];
  readonly target: ServerTarget;
  readonly parameters: ReadonlyMap<string, string>;
};

/** Whether all statements are for it, which therefore has to accept writes, or reads that may lag. */
export type ServerUse = "primary" | "replica";

type Parameters = ReadonlyMap<string, string>;

const DEFAULT_PORT = "5432";

/** The supported connection parameters of libpq, and their allowed values. */
const PARAMETERS: Readonly<Record<string, RegExp>> = {
  host: /^[^,]+(?:,[^,]+){0,15}$/,
  port: /^\d{0,5}(?:,\d{0,5}){0,15}$/,
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
  target_session_attrs: /^(?:any|standby|primary|read-write)$/,
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
  host: "must name 1 to 16 hosts, separated by commas",
  port: "must be one port for all hosts, or one for each",
  sslmode: "must be disable, require, verify-ca or verify-full; others may connect without encryption",
  channel_binding: "must be disable or prefer; sslmode=verify-full authenticates the server",
  connect_timeout: "must be 1 to 60 seconds",
};

const TARGETS: Readonly<
  Record<ServerUse, { readonly allowed: readonly ServerTarget[]; readonly hint: string }>
> = {
  primary: {
    allowed: ["read-write", "primary"],
    hint: "must be read-write or primary, since the product writes; reads of a standby have DATABASE_REPLICA_URL",
  },
  replica: { allowed: ["any", "standby"], hint: "must be any or standby; other reads use DATABASE_URL" },
};

/**
 * Parses a connection URL like libpq. Throws `StartupError`, naming the parameter, for anything that would not be
 * applied as written: a connection is never weaker than requested. Several hosts must accept writes unless they are
 * for a replica. Certificate files are read by `serverAddress`.
 */
export function parseServerUrl(text: string, use: ServerUse = "primary"): ServerUrl {
  const { url, hosts } = splitHosts(text);
  const parameters = new Map<string, string>();
  for (const [name, value] of url.searchParams) {
    // Of a password with an unencoded question mark, it would be a part.
    if (name.includes("@")) throw notEncoded();
    if (!Object.hasOwn(PARAMETERS, name)) throw refuse(name, "is not a supported connection parameter");
    if (parameters.has(name)) throw refuse(name, "is given twice");
    parameters.set(name, value);
  }
  const parts = {
    host: hosts.map(({ hostname }) => hostname.replace(/^\[(.+)\]$/, "$1")).join(","),
    port: hosts.map(({ port }) => port).join(","),
    user: url.username,
    password: url.password,
    dbname: url.pathname.slice(1),
  };
  for (const [name, value] of Object.entries(parts))
    if (!/^,*$/.test(value) && !parameters.has(name)) parameters.set(name, decode(name, value));
  for (const [name, value] of parameters) if (!PARAMETERS[name]?.test(value)) throw refuse(name);
  if (!parameters.has("dbname")) throw refuse("dbname", "is missing");
  requireConsistentTls(parameters);
  const named = namedHosts(parameters);
  return { hosts: named, target: targetOf(parameters, named.length, use), parameters };
}

/** The effective `sslmode`; undefined if the URL says nothing about TLS. */
export function sslModeOf(parameters: Parameters): string | undefined {
  return parameters.get("sslmode") ?? (parameters.has("ssl") ? "require" : undefined);
}

/**
 * `URL` accepts one host: the list is parsed host by host, and the rest with the first of them. An `@` before the
 * parameters ends the user and the password: a second one, or one in the path, is of a password that is not encoded, whose
 * parts must become neither a host nor the name of a database. As for libpq, a plus sign is not a space.
 */
function splitHosts(text: string): { readonly url: URL; readonly hosts: readonly URL[] } {
  const parts = /^(postgres(?:ql)?:\/\/(?:[^@/?#]*@)?)([^@/?#]*)((?:[/#][^@?]*)?)((?:\?.*)?)$/s.exec(text);
  const [, start = "", list = "", path = "", query = ""] = parts ?? [];
  const hosts = list.split(",");
  if (hosts.length > 1 && hosts.some((host) => /^(?::|$)/.test(host))) throw refuse("host");
  // `URL` accepts no user without a host, which a parameter may name, such as the folder of a Unix socket.
  const [first = ""] = hosts;
  const url = parts && URL.parse(start + (first || "localhost") + path + query.replaceAll("+", "%2B"));
  const all = hosts.map((host) => URL.parse(`postgres://${host}`));
  if (!url || url.hash || all.includes(null)) throw notEncoded();
  return { url, hosts: all.filter((host) => host !== null) };
}

function namedHosts(parameters: Parameters): ServerUrl["hosts"] {
  const hosts = (parameters.get("host") ?? "localhost").split(",");
  const ports = (parameters.get("port") ?? "").split(",");
  if (ports.length > 1 && ports.length !== hosts.length) throw refuse("port");
  return hosts.map((host, at) => {
    const port = ports[ports.length === 1 ? 0 : at];
    return { host, port: Number(port || DEFAULT_PORT) };
  });
}

function targetOf(parameters: Parameters, hosts: number, use: ServerUse): ServerTarget {
  const { allowed, hint } = TARGETS[use];
  const asked = parameters.get("target_session_attrs") as ServerTarget | undefined;
  // A single host is used as it is, also while it is read-only.
  if (use === "primary" && hosts === 1 && (asked === undefined || asked === "any")) return "any";
  const target = asked ?? (use === "primary" ? "read-write" : "any");
  if (!allowed.includes(target)) throw refuse("target_session_attrs", hint);
  return target;
}

function requireConsistentTls(parameters: Parameters): void {
  const mode = sslModeOf(parameters);
  const isEncrypted = mode !== undefined && mode !== "disable";
  if (parameters.has("ssl") && mode === "disable") throw refuse("ssl", "contradicts sslmode=disable");
  if (isEncrypted && /(?:^|,)\//.test(parameters.get("host") ?? ""))
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

function decode(name: string, value: string): string {
  try {
    return decodeURIComponent(value);
  } catch (cause) {
    throw new StartupError(`the ${name} must be percent-encoded`, { cause });
  }
}

/** Without any part of the text, which may have a password anywhere. */
function notEncoded(): StartupError {
  return new StartupError("must be a PostgreSQL URL, with special characters percent-encoded");
}

function refuse(name: string, why = HINTS[name] ?? "has a value that is not supported"): StartupError {
  return new StartupError(`parameter ${name}: ${why}`);
}
