import { createClient, createCluster, createSentinel } from "redis";
import type { RedisAddress } from "./redis-address.ts";

const FIRST_RETRY_MS = 50;
const LAST_RETRY_MS = 1_000;
const CONNECT_MS = 2_000;
/** How often sentinels are asked for the master, which they also announce. */
const SENTINEL_SCAN_MS = 1_000;
/** How long a node of a cluster may be away before the others are asked who replaced it. */
const CLUSTER_REFRESH_MS = 500;

type Client = ReturnType<typeof createClient>;

/** A connection, which reconnects by itself when it breaks: to a server, to the present master, or to a cluster. */
export type RedisConnection = Client & {
  /**
   * Opens the connection to one server again, because its address may lead to another one by now. Pending commands fail.
   * Sentinels and clusters announce their masters, so their connections have no need of it.
   */
  readonly reopen?: () => void;
};

/**
 * A connection to `address` that is not open yet. Once opened it reconnects by itself, after 50 ms and doubling to 1 s.
 * Commands sent while it is down fail. With `silenceMs`, a connection without traffic for that time counts as broken.
 */
export function openRedis(
  address: RedisAddress,
  onError: (error: unknown) => void,
  silenceMs?: number,
): RedisConnection {
  const { kind, nodes, master, sentinelPassword } = address;
  const options = optionsOf(address, silenceMs);
  // The types of the three clients differ; the commands that are used have the same names and parameters.
  if (kind === "server")
    return reopenable(createClient(options).on("error", onError) as unknown as Client, onError);
  if (kind === "sentinel")
    return createSentinel({
      name: master,
      sentinelRootNodes: [...nodes],
      nodeClientOptions: options,
      sentinelClientOptions: {
        ...{ maintNotifications: "disabled", socket: options.socket },
        ...(sentinelPassword !== undefined && { password: sentinelPassword }),
      },
      scanInterval: SENTINEL_SCAN_MS,
      // Otherwise one command at a time would be sent.
      reserveClient: true,
    }).on("error", onError) as unknown as RedisConnection;
  const cluster = createCluster({
    rootNodes: nodes.map(({ host, port }) => ({ socket: { host, port } })),
    defaults: options,
    // Otherwise it would not open while one of the masters is away.
    minimizeConnections: true,
    topologyRefreshOnReconnectionAttemptStrategy: CLUSTER_REFRESH_MS,
  })
    .on("error", onError)
    .on("node-error", onError);
  // The client looks for the replacement of a master only if it was connected to that master before, so it connects to
  // all of them at once; except where a connection without traffic counts as broken.
  if (silenceMs === undefined)
    cluster.on("connect", () => {
      for (const master of cluster.masters) Promise.resolve(cluster.nodeClient(master)).catch(() => {});
    });
  return cluster as unknown as RedisConnection;
}

/** Closes the connection at once; pending commands fail. */
export function dropRedis(connection: RedisConnection): void {
  if (!connection.isOpen) return;
  const dropped: unknown = connection.destroy();
  // Sentinels are left asynchronously.
  if (dropped instanceof Promise) dropped.catch(() => {});
}

function reopenable(client: Client, onError: (error: unknown) => void) {
  const reopen = () => {
    // One that is being opened leads to where the address leads now.
    if (!client.isReady) return;
    client.destroy();
    client.connect().catch(onError);
  };
  return Object.assign(client, { reopen });
}

/**
 * Whether a server refused a write because it is a replica. After a failover, an open connection still leads to the
 * former master, although the address leads to the new one.
 */
export function isReplicaRefusal(error: unknown): boolean {
  return error instanceof Error && /\bREADONLY\b/.test(error.message);
}

function optionsOf(
  { kind, nodes, username, password, database, isEncrypted, ca }: RedisAddress,
  silenceMs: number | undefined,
) {
  const [{ host, port }] = nodes;
  return {
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(database !== undefined && { database }),
    disableOfflineQueue: true,
    maintNotifications: "disabled" as const,
    socket: {
      ...(kind === "server" && { host, port }),
      connectTimeout: CONNECT_MS,
      reconnectStrategy: (retries: number) => Math.min(FIRST_RETRY_MS * 2 ** retries, LAST_RETRY_MS),
      ...(silenceMs !== undefined && { socketTimeout: silenceMs }),
      ...(isEncrypted && { tls: true as const, ...(ca !== undefined && { ca }) }),
    },
  };
}
