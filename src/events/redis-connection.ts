import { createClient } from "redis";

const FIRST_RETRY_MS = 50;
const LAST_RETRY_MS = 1_000;

/** One connection, which reconnects by itself when it breaks. */
export type RedisConnection = ReturnType<typeof openRedis>;

/**
 * A connection to `url` that is not open yet. Once opened it reconnects by itself, after 50 ms and doubling to 1 s.
 * Commands sent while it is down fail. With `silenceMs`, a connection without traffic for that time counts as broken.
 */
export function openRedis(url: string, onError: (error: unknown) => void, silenceMs?: number) {
  const client = createClient({
    url,
    disableOfflineQueue: true,
    maintNotifications: "disabled",
    socket: {
      connectTimeout: 2_000,
      reconnectStrategy: (retries) => Math.min(FIRST_RETRY_MS * 2 ** retries, LAST_RETRY_MS),
      ...(silenceMs === undefined ? {} : { socketTimeout: silenceMs }),
    },
  });
  return client.on("error", onError);
}

/** Closes the connection at once; pending commands fail. */
export function dropRedis(connection: RedisConnection): void {
  if (connection.isOpen) connection.destroy();
}
