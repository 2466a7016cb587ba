import type { FastifyReply, FastifyRequest } from "fastify";

/** At most this much of a rejected body is read and discarded; a longer one closes the connection. */
const MAX_DISCARDED_BYTES = 128 * 1_048_576;
const MAX_DISCARD_MS = 30_000;

/**
 * Reads and discards the rest of a rejected body: most clients read the response only after they have sent the whole
 * request, and see a broken connection if it is closed before. A client that waits for `100 (Continue)` sends nothing,
 * and its connection is closed.
 */
export function discardBody({ raw, headers }: FastifyRequest, reply: FastifyReply): void {
  if (headers["content-length"] === undefined && headers["transfer-encoding"] === undefined) return;
  if (headers.expect !== undefined || Number(headers["content-length"] ?? 0) > MAX_DISCARDED_BYTES) return;
  reply.removeHeader("connection");
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
}
