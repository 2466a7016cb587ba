import type { IncomingMessage, ServerResponse } from "node:http";
import { finished } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";

/** At most this much of the rest of a body is read and discarded; then the connection is closed. */
const MAX_DISCARDED_BYTES = 128 * 1_048_576;
const MAX_DISCARD_MS = 30_000;
/** All discarded bodies together are read at 100 MiB/s, so that they leave most of the event loop to others. */
const TURN_BYTES = 1_048_576;
const TURN_MS = 10;
let lastTurnMs = 0;

/** Called before a reply is sent: reads and discards what its request still sends (`discardRest`). */
export function discardBody({ raw }: FastifyRequest, reply: FastifyReply): void {
  if (reply.statusCode !== 408 && discardRest(raw, reply.raw)) reply.removeHeader("connection");
}

/**
 * Reads and discards what a request still sends while its response is sent. Most clients read nothing before they have
 * sent the whole body, and a connection that is closed with unread data loses the response even for those that do. Not
 * for a client that waits for `100 (Continue)`: it sends nothing. Returns whether it is read: then the connection must stay open.
 */
export function discardRest(request: IncomingMessage, response: ServerResponse): boolean {
  const { complete, destroyed, headers } = request;
  if (complete || destroyed) return false;
  if (headers["content-length"] === undefined && headers["transfer-encoding"] === undefined) return false;
  // Once `100` is sent, the connection may be kept (`continueWhenRead`).
  if (/100-continue/i.test(headers.expect ?? "") && !response.shouldKeepAlive) return false;
  if (!response.shouldKeepAlive) closeAfter(request, response);
  const timer = setTimeout(() => request.destroy(), MAX_DISCARD_MS);
  const done = () => clearTimeout(timer);
  request.once("end", done).once("close", done);
  // Earlier readers no longer count or buffer the body.
  request.removeAllListeners("data");
  let [leftBytes, turnBytes] = [MAX_DISCARDED_BYTES, TURN_BYTES];
  request.on("data", (chunk: Buffer) => {
    leftBytes -= chunk.length;
    turnBytes -= chunk.length;
    if (leftBytes < 0) request.destroy();
    else if (turnBytes < 0) {
      turnBytes = TURN_BYTES;
      awaitTurn(request);
    }
  });
  // Unpiping a parser leaves the stream paused, which a new listener does not change.
  request.resume();
  return true;
}

function awaitTurn(request: IncomingMessage): void {
  request.pause();
  const now = performance.now();
  lastTurnMs = Math.max(now, lastTurnMs + TURN_MS);
  setTimeout(() => request.resume(), lastTurnMs - now);
}

/** For a client that wants its connection closed: closes it after the body, not after the response as Node does. */
function closeAfter(request: IncomingMessage, response: ServerResponse): void {
  response.shouldKeepAlive = true;
  request.once("end", () => finished(response, () => request.socket.destroySoon()));
}
