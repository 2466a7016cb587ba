import type { FastifyReply, FastifyRequest } from "fastify";

/** So much of a refused body is read and thrown away; of a longer one the connection is closed. */
const MAX_DISCARDED_BYTES = 128 * 1_048_576;
const MAX_DISCARD_MS = 30_000;

/**
 * Reads the rest of a body that was refused, and keeps nothing of it: most clients read an answer only when they have
 * sent their request, and see a broken connection if it is closed before. One that waits for `100 (Continue)` sends
 * nothing, and its connection is closed.
 */
export function discardBody({ raw, headers }: FastifyRequest, reply: FastifyReply): void {
  if (headers["content-length"] === undefined && headers["transfer-encoding"] === undefined) return;
  if (headers.expect !== undefined || Number(headers["content-length"] ?? 0) > MAX_DISCARDED_BYTES) return;
  reply.removeHeader("connection");
  const timer = setTimeout(() => raw.destroy(), MAX_DISCARD_MS);
  const done = () => clearTimeout(timer);
  raw.once("end", done).once("close", done);
  // Whoever counted or kept the body does no more.
  raw.removeAllListeners("data");
  let left = MAX_DISCARDED_BYTES;
  raw.on("data", (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) raw.destroy();
  });
}
