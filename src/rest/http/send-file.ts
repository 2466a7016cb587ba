import type { FastifyReply } from "fastify";
import { closeSource } from "../../kernel/async/releasing-iterator.ts";
import { whenClosed } from "../../kernel/async/when-closed.ts";
import type { MemoryLease } from "../../load/memory-budget.ts";
import type { Answer } from "./answer.ts";
import { FilePump, SLICE_BYTES } from "./file-pump.ts";
import { limitUnreadEnd } from "./reset-connection.ts";

type FileAnswer = Extract<Answer, { kind: "file" }>;

/** The most that a file stream reads ahead of its client: four segments. */
const READ_AHEAD_BYTES = 4 * 262_144;

/**
 * Sends bytes as they are read. The headers are written after the first bytes were read, so that an earlier failure is
 * answered like any other. A later failure, or a short read, breaks the connection: a client never mistakes a part for
 * the whole. A client that reads nothing for `stallMs` counts as disconnected. Throws `overloaded` when the memory for
 * what is read ahead does not fit.
 */
export async function sendFile(
  reply: FastifyReply,
  { status, headers, body, bufferBytes = READ_AHEAD_BYTES }: FileAnswer,
  {
    more,
    stallMs,
    memory,
  }: {
    readonly more: Readonly<Record<string, string>>;
    readonly stallMs: number;
    readonly memory: MemoryLease;
  },
): Promise<void> {
  const response = reply.raw;
  const announced = headers["content-length"] === undefined ? undefined : Number(headers["content-length"]);
  const heldBytes = body ? countedBytes(Math.min(bufferBytes, announced ?? bufferBytes)) : 0;
  whenClosed(response, () => closeSource(body));
  try {
    memory.reserve(heldBytes);
  } catch (error) {
    closeSource(body);
    throw error;
  }
  const first = body && (await body.next());
  if (first?.done && announced && !response.destroyed)
    throw new Error("a download ended before its first byte");
  reply.hijack();
  const own = reply.getHeaders() as Record<string, string>;
  response.writeHead(status, { ...own, ...more, ...headers });
  if (!body || !first || first.done) return void response.end();
  if (first.value.length === announced && announced <= SLICE_BYTES) {
    limitUnreadEnd(response, stallMs);
    response.end(first.value);
    await body.return?.();
    return;
  }
  try {
    const sent = await new FilePump(response, body, { stallMs, memory, heldBytes }).run(first.value);
    if (announced !== undefined && sent !== announced) return void response.destroy();
    limitUnreadEnd(response, stallMs);
    response.end();
  } catch (error) {
    response.destroy();
    throw error;
  } finally {
    await body.return?.();
  }
}

/** Less is bounded by the number of connections, and not worth counting. */
function countedBytes(bytes: number): number {
  return bytes > SLICE_BYTES ? bytes : 0;
}
