import type { IncomingMessage, ServerResponse } from "node:http";
import { finished } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";

/** At most this much of the rest of a body is read and discarded; then the connection is closed. */
const MAX_DISCARDED_BYTES = 128 * 1_048_576;
const MAX_DISCARD_MS = 30_000;

/**
 * Called before a response is sent: reads and discards what its request still sends. Most clients read nothing before
 * they have sent the whole body, and a connection that is closed with unread data loses the response even for those
 * that do. A client that waits for `100 (Continue)` sends nothing, and its connection is closed; so is that of a client
 * whose body was too slow.
 */
export function discardBody({ raw, headers }: FastifyRequest, reply: FastifyReply): void {
  if (raw.complete || raw.destroyed) return;
  if (headers["content-length"] === undefined && headers["transfer-encoding"] === undefined) return;
  // The connection may be kept from the moment on when `100` is sent (`continueWhenRead`).
  const isAwaiting100 = headers.expect !== undefined && !reply.raw.shouldKeepAlive;
  if (isAwaiting100 || reply.statusCode === 408) return;
  reply.removeHeader("connection");
  if (!reply.raw.shouldKeepAlive) closeAfter(raw, reply.raw);
  const timer = setTimeout(() => raw.destroy(), MAX_DISCARD_MS);
  const done = () => clearTimeout(timer);
  raw.once("end", done).once("close", done);
  // Earlier readers no longer count or buffer the body.
  raw.removeAllListeners("data");
  let left = MAX_DISCARDED_BYTES;
  raw.on("data", (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) raw.destroy();
  });
  // A parser that was piped and taken off leaves the stream paused, which a new listener does not change.
  raw.resume();
}

/** For a client that wants its connection closed: closes it after the body, not after the response as Node does. */
function closeAfter(request: IncomingMessage, response: ServerResponse): void {
  response.shouldKeepAlive = true;
  request.once("end", () => finished(response, () => request.socket.destroySoon()));
}
