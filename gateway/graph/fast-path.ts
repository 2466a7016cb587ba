import type { FastifyRequest } from "fastify";
import type { ExecutionResult } from "graphql";
import { operationTurns, TURN_BYTES } from "../../src/kernel/async/turn-queue.ts";
import { ClientLeftError } from "../../src/kernel/errors.ts";
import { asksForParts } from "../federation/engine/incremental/directives.ts";
import { isInParts } from "../federation/engine/incremental/parts.ts";
import type { deadlinesOf, Graph, GraphContext } from "../federation/graph.ts";
import type { Admitted, Policy } from "../federation/policy/policy.ts";
import type { RequestAbort } from "../http/request-abort.ts";
import { IncrementalResults } from "../subscriptions/incremental-results.ts";
import { showResult } from "../subscriptions/results.ts";
import type { Results } from "../subscriptions/streamed-operation.ts";
import type { IncrementalType } from "../subscriptions/streams.incremental.ts";
import type { CacheHints } from "./cache-hints.ts";
import type { IntrospectionAnswers } from "./introspection-answers.ts";
import type { OperationAccount } from "./operation-account.ts";
import type { PersistedQueries } from "./persisted-queries.ts";
import type { ReadRequest } from "./read-request.ts";

/** A body that takes milliseconds to read. */
const LARGE_BYTES = 65_536;

/** The dependencies of the fast path. */
type Plain = {
  readonly graph: Graph;
  readonly policy: Policy;
  readonly hints: CacheHints;
  readonly deadlines: ReturnType<typeof deadlinesOf>;
  readonly introspection: IntrospectionAnswers;
  readonly persisted: PersistedQueries;
};

/** A response body, its media type and its `Cache-Control`. */
export type FastPathAnswer = {
  readonly text: string | Buffer;
  readonly mediaType: string;
  readonly cacheControl: string;
};

/** A response in parts, of which there is one where nothing is postponed and the client accepts nothing else. */
export type StreamedAnswer = {
  readonly type: IncrementalType;
  readonly first: ExecutionResult;
  readonly results: Results | ExecutionResult;
  /** Releases the slot of the response. */
  readonly release: () => void;
};

type Call = Pick<GraphContext, "replayKey" | "memory"> & {
  readonly read: ReadRequest;
  readonly account: OperationAccount;
  readonly abort: RequestAbort;
  /** Acquires a slot for a response in parts. Throws when there is none. */
  readonly acquireSlot: () => () => void;
};

/**
 * Answers the requests that nearly all clients send, in the forms of `readRequest`, for an operation that is allowed.
 * Apollo Server would give byte for byte the same response at twice the cost of our own path; requests that need full
 * negotiation, an unknown hash and refusals are left to it. Returns undefined for those, before any subgraph request
 * is sent. Throws `rate_limit_exceeded`, and `ClientLeftError` for a large operation whose client left before its turn.
 */
export async function executeFastPath(
  { graph, policy, hints, deadlines, introspection, persisted }: Plain,
  { method, headers }: Pick<FastifyRequest, "method" | "headers">,
  { read, account, replayKey, memory, abort, acquireSlot }: Call,
): Promise<FastPathAnswer | StreamedAnswer | undefined> {
  const { mediaType } = read;
  const query = persisted.textOf(read.payload, policy);
  if (query === undefined) return undefined;
  const payload = { ...read.payload, query };
  const admitted = policy.admit(payload);
  if (!("document" in admitted) || !isServed(admitted, method)) return undefined;
  const type = asksForParts(admitted.document) ? read.incremental : undefined;
  if (!mediaType && !type) return undefined;
  persisted.register(payload, policy);
  const { principal } = account;
  const { variables, requests } = admitted;
  const known = introspection.find(payload, admitted);
  if (known && mediaType) return { text: known, mediaType, cacheControl: hints.of(admitted, principal) };
  await account.takeOperation(requests);
  // Large variables took this turn of the event loop to read and weigh, and are coerced again to execute.
  if (Number(headers["content-length"] ?? 0) > LARGE_BYTES) {
    await operationTurns.next(TURN_BYTES, abort.signal);
    if (abort.signal.aborted) throw new ClientLeftError();
  }
  const { operationName } = payload;
  abort.within(admitted.operation.operation === "mutation" ? deadlines.mutationMs : deadlines.queryMs);
  const operation = {
    ...{ document: admitted.document, operationName, variables },
    ...{ context: { principal, replayKey, memory }, signal: abort.signal },
  };
  const ran = type
    ? await runInParts(graph, operation, { type, acquireSlot, isOnly: !mediaType })
    : await graph.engine.execute(operation);
  if ("results" in ran) {
    account.noteResult(ran.first);
    return ran;
  }
  const result = ran;
  // The engine refused the operation before any subgraph request: Apollo negotiates the status.
  if (result.data === undefined || !mediaType) return undefined;
  account.noteResult(result);
  const text = result.errors ? toText(result) : introspection.keep(payload, admitted, toText(result));
  return { text, mediaType, cacheControl: cacheControlOf(hints, admitted, result, principal) };
}

/** A result that is delivered at once releases its slot; it is streamed too if the client accepts `isOnly` parts. */
async function runInParts(
  { engine }: Graph,
  operation: Parameters<Graph["engine"]["execute"]>[0],
  given: Pick<Call, "acquireSlot"> & { readonly type: IncrementalType; readonly isOnly: boolean },
): Promise<ExecutionResult | StreamedAnswer> {
  const { type, isOnly } = given;
  const release = given.acquireSlot();
  let streamed: StreamedAnswer | undefined;
  try {
    const result = await engine.executeIncrementally(operation);
    if (isInParts(result))
      streamed = { type, first: result.first, results: new IncrementalResults(result, type.format), release };
    else if (isOnly && result.data !== undefined)
      streamed = { type, first: result, results: { ...result, ...LAST }, release };
    else return result;
    return streamed;
  } finally {
    if (!streamed) release();
  }
}

const LAST = { hasNext: false };

/** Subscriptions are streams, and mutations change nothing by GET. */
function isServed({ operation: { operation } }: Admitted, method: string): boolean {
  return operation === "query" || (operation === "mutation" && method === "POST");
}

/** With the members in Apollo's order, and its trailing newline. */
function toText(result: ExecutionResult): string {
  const { errors, data } = showResult(result);
  return `${JSON.stringify({ errors, data })}\n`;
}

function cacheControlOf(
  hints: CacheHints,
  admitted: Admitted,
  { errors }: ExecutionResult,
  principal: GraphContext["principal"],
): string {
  return errors ? "no-store" : hints.of(admitted, principal);
}
