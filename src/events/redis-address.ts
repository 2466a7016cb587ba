import { readFileSync } from "node:fs";
import { StartupError } from "../kernel/errors.ts";

type Node = { readonly host: string; readonly port: number };

/**
 * Where Redis is: one server, the sentinels that know the present master, or some nodes of a cluster. `ca` replaces the
 * known authorities, and `sentinelPassword` is for the sentinels, which do not get the password of the servers.
 */
export type RedisAddress = {
  readonly kind: "server" | "sentinel" | "cluster";
  readonly nodes: readonly [Node, ...Node[]];
  /** The name of the master that the sentinels watch. */
  readonly master: string;
  readonly username?: string;
  readonly password?: string;
  readonly database?: number;
  readonly isEncrypted: boolean;
  readonly ca?: string;
  readonly sentinelPassword?: string;
};

const URL_PARTS = /^(rediss?)(?:\+(sentinel|cluster))?:\/\/(?:([^@/?#]*)@)?([^@/?#]+)(?:\/([^/?#]*))?$/;
const DEFAULT_PORTS = { server: 6_379, sentinel: 26_379, cluster: 6_379 } as const;
const MAX_NODES = 16;

/**
 * Parses `redis://host:6379/0`, `redis+sentinel://host1,host2/mymaster` or `redis+cluster://host1,host2`, each with an
 * optional `user:password@`; with `rediss` instead of `redis` connections use TLS and verify the server. Throws
 * `StartupError` for anything else.
 */
export function parseRedisUrl(text: string): RedisAddress {
  const parts = URL_PARTS.exec(text);
  const [, scheme, form, userInfo = "", hosts = "", path = ""] = parts ?? [];
  const names = hosts.split(",");
  if (!parts || names.length > MAX_NODES)
    throw new StartupError(
      "must be redis://host:6379, redis+sentinel://host1:26379,host2:26379/mymaster or redis+cluster://host1:6379,host2:6379, or the same with rediss",
    );
  const kind = (form ?? "server") as RedisAddress["kind"];
  const [first, ...others] = names.map((name) => nodeOf(name, DEFAULT_PORTS[kind])) as [Node, ...Node[]];
  if (kind === "server" && others.length > 0)
    throw new StartupError("several hosts need redis+sentinel:// or redis+cluster://");
  if (kind === "sentinel" && path === "")
    throw new StartupError(
      "the path must be the name of the master that the sentinels watch, such as /mymaster",
    );
  if (kind === "cluster" && path !== "") throw new StartupError("a cluster has no path: it has one database");
  if (kind === "server" && !/^\d{0,4}$/.test(path))
    throw new StartupError("the path must be a database number");
  const [username = "", password] = userInfo.split(/:(.*)/s);
  return {
    ...{ kind, nodes: [first, ...others], master: kind === "sentinel" ? decode(path) : "" },
    isEncrypted: scheme === "rediss",
    ...(username !== "" && { username: decode(username) }),
    ...(password !== undefined && { password: decode(password) }),
    ...(kind === "server" && path !== "" && { database: Number(path) }),
  };
}

/** The address with what other settings add. Throws `StartupError` for a file that cannot be read. */
export function redisAddress(
  url: string,
  {
    caFile,
    sentinelPassword,
  }: { readonly caFile?: string | undefined; readonly sentinelPassword?: string | undefined },
): RedisAddress {
  const address = parseRedisUrl(url);
  return {
    ...address,
    ...(caFile !== undefined && { ca: readCa(caFile) }),
    ...(sentinelPassword !== undefined && { sentinelPassword }),
  };
}

/** Its hosts, for errors; without credentials. */
export function nameOfRedis({ nodes, master }: RedisAddress): string {
  return `${nodes.map(nodeName)}${master && `/${master}`}`;
}

/** As a URL has it: an IPv6 address is in brackets. */
function nodeName({ host, port }: Node): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}

function nodeOf(text: string, defaultPort: number): Node {
  const url = URL.parse(`redis://${text}`);
  if (!url?.hostname || url.pathname !== "")
    throw new StartupError(`${text || "an empty host"} is not a host and a port`);
  return { host: url.hostname.replace(/^\[(.+)\]$/, "$1"), port: Number(url.port || defaultPort) };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (cause) {
    throw new StartupError("special characters must be percent-encoded", { cause });
  }
}

function readCa(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new StartupError(`REDIS_CA_FILE: ${path} cannot be read (${code}).`, { cause });
  }
}
