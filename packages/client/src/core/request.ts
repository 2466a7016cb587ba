import { numberOf, pauseMs, RETRY_DEFAULTS, timeoutSignal, wake } from "./backoff.ts";
import type { Operation } from "./document.ts";
import { OperationRefused, type ZerographError } from "./errors.ts";
import {
  type Failure,
  failureOfAnswer,
  failureOfErrors,
  failureOfNetwork,
  failureOfStatus,
} from "./failures.ts";
import type { GraphResult, TransportOptions } from "./transport.ts";

/** How a request is sent. */
export type RequestOptions = {
  readonly signal?: AbortSignal;
  /** How long one attempt may take, milliseconds; `Infinity` for no limit. Default: 300,000, for answers of models. */
  readonly timeoutMs?: number;
};

/** Whether an operation may be sent again, if it perhaps arrived: a query may. */
export type RepeatOptions = RequestOptions & { readonly canRepeat: boolean };

/** The media types of a whole result. */
export const ACCEPT = "application/graphql-response+json, application/json;q=0.9";
const TIMEOUT_MS = 300_000;
const MAX_ATTEMPTS = 4;
/** Longer texts are not answers of the graph. */
const MAX_CHARACTERS = 256 * 1_048_576;

/**
 * Sends a query or mutation with POST. A query is sent up to four times while the server cannot be reached or is
 * overloaded; a mutation once, since it may have arrived. Resolves with the result, which may have errors.
 */
export function sendRequest(
  to: TransportOptions,
  operation: Operation,
  options: RepeatOptions,
): Promise<GraphResult> {
  return repeat((signal) => sendOnce(to, operation, signal), options);
}

/** Calls `send` until it has no failure that may pass, and throws the failure that it gives up with. */
export async function repeat<T extends object>(
  send: (signal: AbortSignal) => Promise<T | Failure>,
  { canRepeat, signal, timeoutMs }: RepeatOptions,
): Promise<T> {
  const limitMs = numberOf("timeoutMs", timeoutMs, TIMEOUT_MS);
  for (let attempts = 1; ; attempts++) {
    const failure = await send(AbortSignal.any([timeoutSignal(limitMs), ...(signal ? [signal] : [])]));
    if (!("canRetry" in failure)) return failure;
    if (signal?.aborted) throw signal.reason;
    if (!canRepeat || !failure.canRetry || attempts === MAX_ATTEMPTS) throw failure.error;
    await pause(
      Math.max(
        pauseMs(attempts, RETRY_DEFAULTS),
        Math.min(failure.retryAfterMs ?? 0, RETRY_DEFAULTS.maxPauseMs),
      ),
      signal,
    );
  }
}

/** The data of a result. Throws `OperationRefused` for errors, with the data that came with them. */
export function dataOf({ data, errors = [] }: GraphResult): unknown {
  if (data && errors.length === 0) return data;
  const { error } = failureOfErrors(errors);
  throw error instanceof OperationRefused
    ? new OperationRefused(error.code, error.message, { errors, data })
    : error;
}

async function sendOnce(
  to: TransportOptions,
  operation: Operation,
  signal: AbortSignal,
): Promise<GraphResult | Failure> {
  try {
    return await resultOf(await post(to, operation, ACCEPT, signal));
  } catch (reason) {
    return failureOfAttempt(reason, signal);
  }
}

/**
 * Sends an operation, and resolves with the response to it. Throws `invalid_credential` and `invalid_variables` for what
 * cannot be sent.
 */
export async function post(
  { url, fetch, authorization }: TransportOptions,
  { query, operationName, variables }: Operation,
  accept: string,
  signal: AbortSignal,
): Promise<Response> {
  const value = await orAborted(authorization(), signal);
  const headers = headersOf(value, accept);
  const body = bodyOf({ query, ...(operationName && { operationName }), variables });
  return fetch(url, { method: "POST", headers, body, signal });
}

/** The result that a response has, or why it has none. */
export async function resultOf(response: Response): Promise<GraphResult | Failure> {
  const text = await response.text();
  const result = text.length <= MAX_CHARACTERS ? resultIn(text) : undefined;
  if (response.ok && result) return result;
  if (response.ok) return failureOfAnswer(text, "GraphQL");
  return failureOfStatus(response.status, text, response.headers.get("retry-after"));
}

/** A failure to send, or to read the response. What took too long once would take as long again. */
export function failureOfAttempt(reason: unknown, signal: AbortSignal): Failure {
  const failure = failureOfNetwork(reason);
  return { ...failure, canRetry: failure.canRetry && !signal.aborted };
}

/** The headers of a request to the graph. */
function headersOf(authorization: string | undefined, accept: string): Record<string, string> {
  if (authorization !== undefined && !/^[\x20-\x7e]*$/.test(authorization))
    throw new OperationRefused(
      "invalid_credential",
      "The credential has a line break or a character that no key has.",
    );
  return {
    accept,
    "content-type": "application/json",
    ...(authorization !== undefined && { authorization }),
  };
}

/** The JSON of a request. Throws `invalid_variables` if there is none. */
export function bodyOf(request: object): string {
  try {
    return JSON.stringify(request);
  } catch (cause) {
    throw new OperationRefused("invalid_variables", `The variables are not JSON: ${String(cause)}`, {
      cause,
    });
  }
}

/** A response of GraphQL over HTTP: it has data, or errors in the form of the specification. */
function resultIn(text: string): GraphResult | undefined {
  try {
    const result = JSON.parse(text) as GraphResult;
    return "data" in result || Array.isArray(result.errors) ? result : undefined;
  } catch {
    return undefined;
  }
}

/** What the caller's own function returns, unless the signal aborts first: the function does not know the signal. */
async function orAborted<T>(value: Promise<T>, signal: AbortSignal): Promise<T> {
  let onAbort = () => {};
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
  });
  try {
    return await Promise.race([value, aborted]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      cancel();
      reject(signal?.reason as ZerographError);
    };
    const cancel = wake(ms, () => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    });
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}
