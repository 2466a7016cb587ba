import type { IncomingMessage } from "node:http";
import { type ExecutionResult, type GraphQLError, getOperationAST, OperationTypeNode } from "graphql";
import type { App } from "../../src/app.ts";
import type { GraphLimits } from "../../src/graph-limits.ts";
import type { AppError } from "../../src/kernel/errors.ts";
import type { Principal } from "../../src/keys/auth/principal.ts";
import { type Hop, networkOf, sourceAddress } from "../../src/keys/auth/source-address.ts";
import type { OperationMemory } from "../../src/load/operation-memory.ts";
import { isInParts } from "../federation/engine/incremental/parts.ts";
import { deadlinesOf, type Graph } from "../federation/graph.ts";
import { refusePersistedQuery } from "../federation/policy/persisted-query.ts";
import type { OperationPayload, Policy } from "../federation/policy/policy.ts";
import { OperationAccount } from "../graph/operation-account.ts";
import type { PersistedQueries } from "../graph/persisted-queries.ts";
import { ConnectionCaps, type ConnectionKind } from "./connection-caps.ts";
import type { IncrementalFormat } from "./incremental-format.ts";
import { IncrementalResults } from "./incremental-results.ts";
import { createShareKeys, SharedStreams } from "./shared-streams.ts";
import type { Results, StreamContext, StreamedOperation } from "./streamed-operation.ts";
import type { StreamingResponse } from "./streaming-response.ts";
import { WatchedStream } from "./watched-stream.ts";

/** The operations shared by all streaming transports: authentication, admission and execution. */
export type Streams = {
  readonly limits: GraphLimits;
  /** How long a client may leave written data unread. */
  readonly stallMs: number;
  /** Responses being streamed; they end with the server. */
  readonly responses: Set<StreamingResponse>;
  /** Open connections, counted by owner. */
  readonly caps: ConnectionCaps;
  /** Authenticates the credential of a header or connection parameter; counts as a request. Throws like REST. */
  authenticate(authorization: unknown, hop: Hop): Promise<OperationAccount>;
  /**
   * Acquires a connection slot of the caller and returns the function that releases it; undefined if none is free.
   */
  take(kind: ConnectionKind, principal: Principal, hop: Hop): (() => void) | undefined;
  /**
   * Calls `ended` when the caller's credential ends, unless the returned function was called before. With `isLast`, its
   * subscriptions end before.
   */
  watch(
    principal: Principal,
    ended: (why: AppError) => void,
    options?: { readonly isLast: boolean },
  ): () => void;
  /** The memory budget of an operation's results, charged to the caller. */
  memoryOf(request: IncomingMessage, principal: Principal): OperationMemory;
  /** Classifies an operation by the rules of every transport. Nothing is counted. */
  kindOf(payload: OperationPayload): "unary" | "subscription" | "refused";
  /**
   * Admits an operation by the rules of every transport, and counts its cost beyond the request or message that
   * carried it. Throws `rate_limit_exceeded`.
   */
  admit(
    payload: OperationPayload,
    context: StreamContext,
  ): Promise<StreamedOperation | readonly GraphQLError[]>;
  /**
   * Runs an admitted operation: a subscription returns a stream, any other operation one result. A stream ends with
   * an error when the credential that opened it ends. With a format, `@defer` and `@stream` are delivered in parts.
   */
  run(operation: StreamedOperation, format?: IncrementalFormat): Promise<Results | ExecutionResult>;
  /** Logs a bug of ours on the way to a client. */
  report(error: unknown): void;
};

/** Creates the operations shared by the streaming transports. */
export function createStreams(
  app: App,
  graph: Graph,
  { policy, persisted }: { readonly policy: Policy; readonly persisted: PersistedQueries },
): Streams {
  const { engine, apiSchema, supergraph } = graph;
  const { limits } = policy;
  const { queryMs, mutationMs } = deadlinesOf(app.config);
  const caps = new ConnectionCaps(limits);
  const shared = new SharedStreams();
  const shareKey = createShareKeys(supergraph);
  const open = (operation: StreamedOperation): Promise<Results | ExecutionResult> => {
    const { document, operationName, variableValues, contextValue } = operation;
    const { account, memory } = contextValue;
    const { principal } = account;
    const request = { document, operationName, variables: variableValues, context: { principal } };
    const key = shareKey(operation);
    if (key === undefined) return engine.subscribe({ ...request, context: { principal, memory } });
    return shared.open(document, key, () => engine.subscribe(request));
  };
  const admit = (payload: OperationPayload) => {
    const refusal = refusePersistedQuery(payload);
    return refusal ? [refusal] : policy.admit({ ...payload, query: persisted.textOf(payload, policy) });
  };
  return {
    limits,
    stallMs: app.config.CLIENT_STALL_MS,
    responses: new Set(),
    caps,
    async authenticate(authorization, hop) {
      const given = authorization === undefined ? undefined : String(authorization);
      const principal = await app.requestAuthenticator.authenticate({ authorization: given, hop });
      return new OperationAccount(app, principal, hop);
    },
    take(kind, principal, hop) {
      if (principal.kind !== "anonymous") return caps.takeOfKey(kind, credentialOf(principal));
      return caps.takeOfAddress(networkOf(sourceAddress(hop, app.trustedProxies) ?? ""));
    },
    memoryOf: (request, principal) => app.load.requests.operationOf(request, principal),
    watch: (principal, ended, options) => app.credentialWatch.watch(principal, ended, options),
    kindOf(payload) {
      const admitted = admit(payload);
      if (!("document" in admitted)) return "refused";
      return admitted.operation.operation === OperationTypeNode.SUBSCRIPTION ? "subscription" : "unary";
    },
    async admit(payload, context) {
      const admitted = admit(payload);
      if (!("document" in admitted)) return admitted;
      persisted.register(payload, policy);
      await context.account.take(admitted.requests - 1);
      const { operationName } = payload;
      return {
        schema: apiSchema,
        document: admitted.document,
        operationName,
        variableValues: admitted.variables,
        contextValue: context,
      };
    },
    async run(operation, format) {
      const { document, operationName, variableValues, contextValue } = operation;
      const { account, replayKey, memory, signal } = contextValue;
      const { principal } = account;
      const kind = getOperationAST(document, operationName)?.operation;
      if (kind !== "subscription") {
        const deadline = AbortSignal.timeout(kind === "mutation" ? mutationMs : queryMs);
        const request = {
          ...{ document, operationName, variables: variableValues },
          context: { principal, replayKey, memory },
          signal: signal ? AbortSignal.any([signal, deadline]) : deadline,
        };
        const result = await (format ? engine.executeIncrementally(request) : engine.execute(request));
        account.noteResult(isInParts(result) ? result.first : result);
        return format && isInParts(result)
          ? new IncrementalResults(result, format)
          : (result as ExecutionResult);
      }
      const opened = await open(operation);
      if (!(Symbol.asyncIterator in opened)) return opened;
      account.noteUse();
      const watch = (ended: (why: AppError) => void) => {
        const stopWatching = app.credentialWatch.watch(principal, ended);
        const stopCounting = app.metrics?.subscription();
        const stopListing = app.processes.countSubscription();
        return () => {
          stopWatching();
          stopCounting?.();
          stopListing();
        };
      };
      return new WatchedStream(opened, { watch, taken: () => memory.release() });
    },
    report: (error) => app.log.error({ err: error }, "a stream failed"),
  };
}

function credentialOf(principal: Exclude<Principal, { kind: "anonymous" }>): string {
  return principal.kind === "wallet-session" ? principal.sessionId : principal.keyId;
}
