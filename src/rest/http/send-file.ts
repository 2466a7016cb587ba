import type { ServerResponse } from "node:http";
import type { FastifyReply } from "fastify";
import { closeSource } from "../../kernel/async/releasing-iterator.ts";
import type { Answer } from "./answer.ts";
import { limitUnreadEnd, resetConnection } from "./reset-connection.ts";

type FileAnswer = Extract<Answer, { kind: "file" }>;

/**
 * Sends bytes as they are read. The headers are written after the first bytes were read, so that an earlier failure is
 * answered like any other. A later failure, or a short read, breaks the connection: a client never mistakes a part for
 * the whole. A client that reads nothing for `stallMs` counts as disconnected.
 */
export async function sendFile(
  reply: FastifyReply,
  { status, headers, body }: FileAnswer,
  { more, stallMs }: { readonly more: Readonly<Record<string, string>>; readonly stallMs: number },
): Promise<void> {
  const response = reply.raw;
  const leave = () => closeSource(body);
  response.once("close", leave);
  const first = body && (await body.next());
  const announced = headers["content-length"] === undefined ? undefined : Number(headers["content-length"]);
  if (first?.done && announced && !response.destroyed)
    throw new Error("a download ended before its first byte");
  reply.hijack();
  const own = reply.getHeaders() as Record<string, string>;
  response.writeHead(status, { ...own, ...more, ...headers });
  if (!body || !first || first.done) return void response.end();
  if (first.value.length === announced) {
    limitUnreadEnd(response, stallMs);
    response.end(first.value);
    await body.return?.();
    return;
  }
  try {
    const sent = await pump(response, body, first.value, stallMs);
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

/** Writes chunk after chunk, no faster than the client reads, and returns the number of bytes. */
async function pump(
  response: ServerResponse,
  body: AsyncIterator<Uint8Array>,
  first: Uint8Array,
  stallMs: number,
): Promise<number> {
  let sent = 0;
  for (let chunk: Uint8Array | undefined = first; chunk && !response.destroyed; ) {
    sent += chunk.length;
    if (!response.write(chunk)) await drained(response, stallMs);
    const next = await body.next();
    chunk = next.done ? undefined : next.value;
  }
  return sent;
}

function drained(response: ServerResponse, stallMs: number): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      response.off("drain", end);
      response.off("close", end);
      resolve();
    };
    const timer = setTimeout(() => resetConnection(response), stallMs);
    response.on("drain", end);
    response.on("close", end);
  });
}
