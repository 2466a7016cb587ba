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
  const answer = find(error, RpcRequestError);
  return answer !== undefined && (answer.code === 3 || /\brevert/i.test(answer.details));
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

/** Whether an endpoint does not support the request. Rate limiting does not count: a later request may succeed. */
export function isRefusal(error: unknown): boolean {
  const isUnsupported = (inner: unknown) =>
    inner instanceof RpcRequestError && inner.code !== TOO_MANY_REQUESTS;
  return isViemError(error) && error.walk(isUnsupported) !== null;
}

const TOO_MANY_REQUESTS = -32_005;
