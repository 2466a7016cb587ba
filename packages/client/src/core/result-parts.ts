import type { Client } from "./client.ts";
import { type Operation, type TypedDocument, textOf } from "./document.ts";
import type { GraphError } from "./errors.ts";
import { type Failure, failureOfNetwork } from "./failures.ts";
import { multipartReader } from "./multipart-reader.ts";
import { ACCEPT, failureOfAttempt, post, type RepeatOptions, repeat, resultOf } from "./request.ts";
import type { GraphResult, TransportOptions } from "./transport.ts";

type Path = readonly (string | number)[];

/** A fragment with `@defer`, or a list with `@stream`, that a later part delivers. */
export type PendingPart = { readonly id: string; readonly path: Path; readonly label?: string };

/** The data of a fragment for the object at `path`, or items of a list: those from the index at the end of `path`. */
export type DeliveredPart = PendingPart & {
  readonly data?: Record<string, unknown>;
  readonly items?: readonly unknown[];
  readonly errors?: readonly GraphError[];
};

/** The first part of a result, or one that follows it: a result without `@defer` and `@stream` is one part. */
export type ResultPart = GraphResult & {
  readonly pending?: readonly PendingPart[];
  readonly incremental?: readonly DeliveredPart[];
  /** What is over; with errors if it could not be delivered. */
  readonly completed?: readonly { readonly id: string; readonly errors?: readonly GraphError[] }[];
  readonly hasNext?: boolean;
};

/** Without the name of a format: what is delivered then has both an id and a path. */
const ACCEPT_PARTS = `multipart/mixed, ${ACCEPT}`;

/**
 * Sends a query or mutation, and yields its result when it arrives: with `@defer` and `@stream` in parts. Errors of the
 * graph are in the result. Throws `OperationRefused` or `ConnectionLost` if there is none. With `canRepeat`, as for a
 * query, it is sent again while the server cannot be reached.
 */
export async function* execute(
  { requests }: Pick<Client, "requests">,
  document: TypedDocument<unknown, never>,
  variables: object = {},
  { canRepeat = false, ...options }: Partial<RepeatOptions> = {},
): AsyncGenerator<ResultPart, void, undefined> {
  const operation = { query: textOf(document), variables: { ...variables } };
  const { body, contentType, result } = await repeat((signal) => openOnce(requests, operation, signal), {
    ...options,
    canRepeat,
  });
  if (!body) yield result;
  else yield* readParts(body, contentType);
}

type Opened =
  | { readonly body: ReadableStream<Uint8Array>; readonly contentType: string; readonly result?: never }
  | { readonly body?: never; readonly contentType?: never; readonly result: GraphResult };

async function openOnce(
  to: TransportOptions,
  operation: Operation,
  signal: AbortSignal,
): Promise<Opened | Failure> {
  try {
    const response = await post(to, operation, ACCEPT_PARTS, signal);
    const contentType = response.headers.get("content-type") ?? "";
    if (response.ok && response.body && contentType.startsWith("multipart/mixed"))
      return { body: response.body, contentType };
    const result = await resultOf(response);
    return "canRetry" in result ? result : { result };
  } catch (reason) {
    return failureOfAttempt(reason, signal);
  }
}

/** Throws `ConnectionLost` if the response breaks off. */
async function* readParts(
  body: ReadableStream<Uint8Array>,
  contentType: string,
): AsyncGenerator<ResultPart, void, undefined> {
  const parts: ResultPart[] = [];
  const read = multipartReader(contentType, (part) => void parts.push(part as ResultPart));
  const decoder = new TextDecoder();
  const chunks = body.getReader();
  try {
    for (let isOver = false; !isOver; ) {
      const { done, value } = await chunks.read();
      if (done) throw new Error("the response ended");
      isOver = read(decoder.decode(value, { stream: true }));
      yield* parts.splice(0);
    }
  } catch (reason) {
    throw failureOfNetwork(reason).error;
  } finally {
    chunks.cancel().catch(() => {});
  }
}
