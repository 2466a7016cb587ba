import type { ServerResponse } from "node:http";
import type { CacheUse } from "../../inference/answer-cache/cache-request.ts";
import type { StreamSink } from "../../inference/dispatch/stream-options.ts";
import { whenClosed } from "../../kernel/async/when-closed.ts";
import type { ClientExchange } from "../../receipts/client-exchange.ts";
import { cacheHeaders } from "./cache-headers.ts";
import { limitUnreadEnd, resetConnection } from "./reset-connection.ts";

/** Without a blank line, which OpenAI's client for Go takes for an event without data, and fails. */
const KEEP_ALIVE = Buffer.from(": keep-alive\n");

/**
 * Writes server-sent events to an HTTP response. The headers are written with the first event or the first keep-alive
 * comment, which is sent whenever nothing else was written for `keepAliveMs`. A client may leave the end of a stream unread for
 * `stallMs`. `client` hashes all that is written.
 */
export function eventSink(
  response: ServerResponse,
  headers: Readonly<Record<string, string>>,
  {
    keepAliveMs,
    stallMs,
    client,
  }: {
    readonly keepAliveMs: number;
    readonly stallMs: number;
    readonly client?: ClientExchange | undefined;
  },
): StreamSink {
  let ended = false;
  const begin = ({
    responseKey,
    cache,
  }: {
    responseKey?: string | undefined;
    cache?: CacheUse | undefined;
  } = {}) => {
    if (response.headersSent) return;
    response.writeHead(200, {
      ...headers,
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-store",
      "x-accel-buffering": "no",
      ...(responseKey !== undefined && { "zg-res-key": responseKey }),
      ...(cache && cacheHeaders(cache)),
    });
  };
  const keepAlive = setInterval(() => {
    if (response.writableEnded) clearInterval(keepAlive);
    // A client that reads nothing needs no keep-alive. The end of an answer was hashed before it is written.
    if (response.writableEnded || response.writableNeedDrain || client?.isEnding) return;
    begin();
    client?.sent(KEEP_ALIVE);
    response.write(KEEP_ALIVE);
  }, keepAliveMs);
  whenClosed(response, () => clearInterval(keepAlive));
  return {
    start: (head) => begin(head),
    write(bytes) {
      keepAlive.refresh();
      client?.sent(bytes);
      return response.write(bytes);
    },
    end() {
      ended = true;
      clearInterval(keepAlive);
      limitUnreadEnd(response, stallMs);
      response.end();
    },
    abort() {
      ended = true;
      clearInterval(keepAlive);
      resetConnection(response);
    },
    isClosed: () => response.destroyed && !ended,
    onDrain: (listener) => void response.on("drain", listener),
    onClose: (listener) =>
      whenClosed(response, () => {
        if (!ended) listener();
      }),
  };
}
