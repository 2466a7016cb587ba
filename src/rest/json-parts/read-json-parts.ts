import type { IncomingMessage } from "node:http";
import { AppError } from "../../kernel/errors.ts";
import type { MemoryLease } from "../../load/memory-budget.ts";
import type { JsonParts } from "./json-parts.ts";
import { JsonScanner } from "./json-scanner.ts";

/** So much is read in one turn of the event loop: about 5 ms. */
const TURN_BYTES = 1_048_576;

type Options = {
  /** Of the whole body. */
  readonly maxBytes: number;
  /** Longer texts are measured and not kept. */
  readonly maxTextLength: number;
  /** Opened with the first bytes that count. */
  readonly lease: () => MemoryLease;
};

/**
 * Reads a JSON body in parts, in as many turns of the event loop as it takes; of a body with a fault the rest is read and
 * not kept. Throws `body_too_large` for one that is longer than `maxBytes` or can never fit into its owner's share of the
 * memory budget, `overloaded` for one that does not fit now, and what the request fails by.
 */
export function readJsonParts(request: IncomingMessage, options: Options): Promise<JsonParts> {
  const { maxBytes, maxTextLength } = options;
  if (Number(request.headers["content-length"] ?? 0) > maxBytes) return Promise.reject(tooLarge(maxBytes));
  const scanner = new JsonScanner({ maxTextLength, reserve: (bytes) => reserve(options.lease(), bytes) });
  const { promise, resolve, reject } = Promise.withResolvers<JsonParts>();
  let [read, readInTurn] = [0, 0];
  const stop = () => request.off("data", take).off("end", end).off("error", fail);
  const fail = (error: unknown) => {
    stop();
    reject(error);
  };
  const end = () => {
    stop();
    resolve(scanner.end());
  };
  const take = (chunk: Buffer) => {
    read += chunk.length;
    if (read > maxBytes) return fail(tooLarge(maxBytes));
    try {
      scanner.feed(chunk);
    } catch (error) {
      return fail(error);
    }
    readInTurn += chunk.length;
    if (readInTurn < TURN_BYTES) return;
    readInTurn = 0;
    request.pause();
    setImmediate(() => request.resume());
  };
  request.on("data", take).on("end", end).on("error", fail).resume();
  return promise;
}

function reserve(lease: MemoryLease, bytes: number): void {
  const limit = lease.largestBytes;
  if (lease.bytes + bytes > limit)
    throw new AppError(
      "body_too_large",
      `This body needs more memory than one caller may hold here, ${limit} bytes. Send smaller requests.`,
    );
  lease.reserve(bytes);
}

function tooLarge(maxBytes: number): AppError {
  return new AppError("body_too_large", `The body is larger than ${maxBytes} bytes.`);
}
