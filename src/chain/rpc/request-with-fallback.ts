import { AppError } from "../../kernel/errors.ts";
import type { RpcEndpoint } from "./rpc-endpoint.ts";
import { isOutage, isRevert, isTimeout, isUnsupported } from "./rpc-errors.ts";

/**
 * Tries the endpoints in configured order, the ready ones first and of these those with new blocks, until one succeeds.
 * A contract's revert is a result and ends the loop. If every endpoint fails, an error response takes precedence over a
 * connection failure: only an error response shows the caller what to change. That an endpoint does not know the call
 * comes after the other error responses: it says nothing about an endpoint that does. `send` also throws if the
 * endpoint's response cannot be used.
 */
export async function requestWithFallback(
  endpoints: readonly RpcEndpoint[],
  send: (endpoint: RpcEndpoint) => Promise<unknown>,
): Promise<unknown> {
  const ready = endpoints
    .filter(({ isReady }) => isReady)
    .sort((one, other) => Number(one.isBehind) - Number(other.isBehind));
  const others = endpoints.filter(({ isReady }) => !isReady);
  if (ready.length > 0) for (const endpoint of others) endpoint.recover();
  let worst: { readonly error: unknown; readonly weight: number } | undefined;
  for (const endpoint of [...ready, ...others]) {
    // Wait for an unreachable endpoint only if no other endpoint answers.
    if (worst && worst.weight >= UNKNOWN_CALL && !endpoint.isReady) continue;
    try {
      return await send(endpoint);
    } catch (error) {
      if (isRevert(error)) throw error;
      const weight = weightOf(error);
      if (!worst || weight > worst.weight) worst = { error, weight };
    }
  }
  throw worst?.error ?? new AppError("chain_error", "There is no RPC endpoint.");
}

const ANSWER = 4;
const UNKNOWN_CALL = 3;
const LATE = 2;
const OUT_OF_REACH = 1;

function weightOf(error: unknown): number {
  if (!isOutage(error)) return isUnsupported(error) ? UNKNOWN_CALL : ANSWER;
  return isTimeout(error) ? LATE : OUT_OF_REACH;
}
