import {
  type BaseError,
  HttpRequestError,
  ResponseBodyTooLargeError,
  RpcRequestError,
  TimeoutError,
} from "viem";
import { AppError } from "../../kernel/errors.ts";

/** The reason of a failure, for the log: viem's long message contains the URL, and a URL may contain a key. */
export function rpcReason(error: unknown): string {
  const cause = error instanceof AppError && error.cause ? error.cause : error;
  if (isViemError(cause)) return cause.details ? `${cause.name}: ${cause.details}` : cause.name;
  return cause instanceof Error ? cause.message : String(cause);
}

/** Whether viem threw the error, so that its causes can be walked. */
function isViemError(error: unknown): error is BaseError {
  return error instanceof Error && "walk" in error;
}

/** Bad request, too large, rate limited: a chain id check would only add one more request. */
const REFUSALS: readonly (number | undefined)[] = [400, 413, 429];

/**
 * Whether the connection failed, and not the call: a JSON-RPC error, an HTTP refusal and a response that is too large
 * are responses.
 */
export function isOutage(error: unknown): boolean {
  if (find(error, RpcRequestError) || find(error, ResponseBodyTooLargeError)) return false;
  const refused = find(error, HttpRequestError);
  return !refused || !REFUSALS.includes(refused.status);
}

/** Whether a contract reverted the call. */
export function isRevert(error: unknown): boolean {
  return revertDetails(error) !== undefined;
}

/** The node's text about a call that a contract reverted; undefined for every other failure. */
export function revertDetails(error: unknown): string | undefined {
  const answer = find(error, RpcRequestError);
  return answer && (answer.code === 3 || /\brevert/i.test(answer.details)) ? answer.details : undefined;
}

function find<T extends Error>(error: unknown, type: new (...args: never[]) => T): T | undefined {
  const found = isViemError(error) ? error.walk((cause) => cause instanceof type) : undefined;
  return found instanceof type ? found : undefined;
}

/** Whether an endpoint did not respond in time. */
export function isTimeout(error: unknown): boolean {
  return find(error, TimeoutError) !== undefined;
}

/** Whether an endpoint refused a range of blocks (too long, too many logs, too slow); half of it may succeed. */
export function isRangeRefused(error: unknown): boolean {
  const cause = error instanceof AppError ? error.cause : error;
  const http = find(cause, HttpRequestError);
  if (http) return http.status === 400 || http.status === 413;
  return [RpcRequestError, TimeoutError, ResponseBodyTooLargeError].some(
    (type) => find<Error>(cause, type) !== undefined,
  );
}

/** Whether an endpoint answered the request with an error. */
export function isRefusal(error: unknown): boolean {
  return find(error, RpcRequestError) !== undefined;
}

/** Whether an endpoint answered that it does not know the method or its parameters. */
export function isUnsupported(error: unknown): boolean {
  const code = find(error, RpcRequestError)?.code;
  return code !== undefined && UNKNOWN_CALL.includes(code);
}

/** Whether an endpoint refused a request because of too many requests: a later one may succeed. */
export function isBusy(error: unknown): boolean {
  const answer = find(error, RpcRequestError);
  return answer !== undefined && (TOO_MANY_REQUESTS.includes(answer.code) || RATE_LIMIT.test(answer.details));
}

/** Invalid request, method not found, invalid parameters. */
const UNKNOWN_CALL: readonly number[] = [-32_600, -32_601, -32_602];
/** Providers agree neither on the code nor on the text. */
const TOO_MANY_REQUESTS: readonly number[] = [429, -32_005, -32_007, -32_016, -32_029];
const RATE_LIMIT = /\b(rate|limit|limited|too many|capacity|throttl\w*|quota|overload\w*|try again)\b/i;
