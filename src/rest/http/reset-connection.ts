import type { ServerResponse } from "node:http";

/**
 * Ends a response that is not whole with a reset of its connection. A mere close could pass for its regular end: HTTP/1.0
 * has no other one, and proxies use it.
 */
export function resetConnection(response: ServerResponse): void {
  const { socket } = response;
  if (socket && !socket.destroyed) socket.resetAndDestroy();
  response.destroy();
}

/** Resets the connection if the client leaves the last bytes of a response unread for `stallMs`. */
export function limitUnreadEnd(response: ServerResponse, stallMs: number): void {
  // Node restarts this timeout whenever the client reads some of the response, and clears it at the end.
  response.setTimeout(stallMs, () => resetConnection(response));
}
