import type { IncomingMessage } from "node:http";
import type { ExecutionResult, FormattedExecutionResult } from "graphql";
import type { ReplayKey } from "../../src/idempotency/replay-key.ts";
import type { OperationPayload } from "../federation/policy/policy.ts";
import { showError } from "../federation/policy/refusals.ts";
import type { OperationAccount } from "../graph/operation-account.ts";
import { ClientLeft } from "../http/request-abort.ts";
import { showResult } from "../subscriptions/results.ts";
import type { Results } from "../subscriptions/streamed-operation.ts";
import type { Streams } from "../subscriptions/streams.ts";

/** The request of an MCP client, and its caller. */
export type McpCall = {
  readonly account: OperationAccount;
  readonly replayKey: () => ReplayKey | undefined;
  readonly request: IncomingMessage;
};

/** Runs operations of the graph for MCP clients, by the rules of every transport. */
export class OperationRunner {
  readonly #streams: Streams;

  constructor(streams: Streams) {
    this.#streams = streams;
  }

  /** The result of a query or mutation, as clients see it. Throws `rate_limit_exceeded`. */
  async run(
    call: McpCall,
    payload: OperationPayload,
    signal: AbortSignal,
  ): Promise<FormattedExecutionResult<Readonly<Record<string, unknown>>>> {
    for await (const result of this.follow(call, payload, signal)) return result;
    return { data: null };
  }

  /** The results of a subscription, or the one of another operation. Ends with `signal`. Throws `rate_limit_exceeded`. */
  async *follow(
    { account, replayKey, request }: McpCall,
    payload: OperationPayload,
    signal: AbortSignal,
  ): AsyncGenerator<FormattedExecutionResult<Readonly<Record<string, unknown>>>> {
    const memory = this.#streams.memoryOf(request, account.principal);
    const left = new AbortController();
    const leave = () => left.abort(new ClientLeft());
    signal.addEventListener("abort", leave, { once: true });
    try {
      const context = { account, replayKey, memory, signal: left.signal };
      const operation = await this.#streams.admit(payload, context);
      if (!("document" in operation)) {
        yield { errors: operation.map((error) => showError(error.toJSON())) };
        return;
      }
      const results = await this.#streams.run(operation);
      if (Symbol.asyncIterator in results) yield* follow(results, signal);
      else yield showResult(results);
    } finally {
      signal.removeEventListener("abort", leave);
      memory.end();
    }
  }
}

async function* follow(results: Results, signal: AbortSignal) {
  const end = () => void results.return?.();
  signal.addEventListener("abort", end, { once: true });
  try {
    if (signal.aborted) return;
    for await (const result of results) yield showResult(result as ExecutionResult);
  } finally {
    signal.removeEventListener("abort", end);
    end();
  }
}
