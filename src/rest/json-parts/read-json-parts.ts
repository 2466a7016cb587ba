import type { IncomingMessage } from "node:http";
import type { TurnQueue } from "../../kernel/async/turn-queue.ts";
import { AppError } from "../../kernel/errors.ts";
import type { MemoryLease } from "../../load/memory-budget.ts";
import type { JsonParts } from "./json-parts.ts";
import { JsonScanner } from "./json-scanner.ts";

type Options = {
  /** The maximum size of the whole body. */
  readonly maxBytes: number;
  /** Longer texts are measured and not stored. */
  readonly maxTextLength: number;
  /** Shared by all bodies, so that many of them block the event loop no longer than one. */
  readonly turns: TurnQueue;
  /** Opened when the first bytes are reserved. */
  readonly lease: () => MemoryLease;
};

/**
 * Reads a JSON body in parts, over as many turns of the event loop as it needs; after a fault the rest is read and
 * discarded. Throws `body_too_large` if the body is longer than `maxBytes` or can never fit into its owner's share of
 * the memory budget, `overloaded` if it does not fit now, and the error of the request stream.
 */
export function readJsonParts(request: IncomingMessage, options: Options): Promise<JsonParts> {
  const { maxBytes, maxTextLength } = options;
  if (Number(request.headers["content-length"] ?? 0) > maxBytes) return Promise.reject(tooLarge(maxBytes));
  const scanner = new JsonScanner({ maxTextLength, reserve: (bytes) => options.lease().reserveBody(bytes) });
  const { promise, resolve, reject } = Promise.withResolvers<JsonParts>();
  let read = 0;
  let isOver = false;
  const stop = () => {
    isOver = true;
    request.off("data", take).off("end", finish).off("error", fail);
  };
  const fail = (error: unknown) => {
    stop();
    reject(error);
  };
  const end = () => {
    if (isOver) return;
    stop();
    resolve(scanner.end());
  };
  const feed = (chunk: Buffer) => {
    if (isOver) return;
    try {
      scanner.feed(chunk);
    } catch (error) {
      fail(error);
    }
    // After a failure, the listener that discards the rest needs the stream flowing too.
    request.resume();
  };
  const take = (chunk: Buffer) => {
    read += chunk.length;
    if (read > maxBytes) return fail(tooLarge(maxBytes));
    if (scanner.hasFailed) return;
    request.pause();
    options.turns.take(chunk.length, () => feed(chunk));
  };
  // A body that arrived whole ends in spite of the pause: its end is queued after its chunks.
  const finish = () => options.turns.take(0, end);
  request.on("data", take).on("end", finish).on("error", fail).resume();
  return promise;
}

function tooLarge(maxBytes: number): AppError {
  return new AppError("body_too_large", `The body is larger than ${maxBytes} bytes.`);
}
