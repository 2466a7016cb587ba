import type { IncomingMessage } from "node:http";
import { type ExecutionResult, type GraphQLError, getOperationAST, OperationTypeNode } from "graphql";
import type { App } from "../../src/app.ts";
import type { GraphLimits } from "../../src/graph-limits.ts";
import type { AppError } from "../../src/kernel/errors.ts";
import type { Principal } from "../../src/keys/auth/principal.ts";
import { type Hop, networkOf, sourceAddress } from "../../src/keys/auth/source-address.ts";
import type { OperationMemory } from "../../src/load/operation-memory.ts";
import { deadlinesOf, type Graph } from "../federation/graph.ts";
import type { OperationPayload, Policy } from "../federation/policy/policy.ts";
import { OperationAccount } from "../graph/operation-account.ts";
import { ConnectionCaps, type ConnectionKind } from "./connection-caps.ts";
import { createShareKeys, SharedStreams } from "./shared-streams.ts";
import type { Results, StreamContext, StreamedOperation } from "./streamed-operation.ts";
import type { StreamingResponse } from "./streaming-response.ts";
import { WatchedStream } from "./watched-stream.ts";

/** What all streaming transports share: who asks, whether it may be asked, and the asking. */
export type Streams = {
  readonly limits: GraphLimits;
  /** How long a client may leave what was written to it unread. */
  readonly stallMs: number;
  /** Responses that are being streamed: they are ended with the server. */
  readonly responses: Set<StreamingResponse>;
  /** Connections that are open, counted by who opened them. */
  readonly caps: ConnectionCaps;
  /** Who presents this credential, as a header or as a connection parameter; it counts as a request. Throws as REST does. */
  authenticate(authorization: unknown, hop: Hop): Promise<OperationAccount>;
  /** Takes a place for one more connection of who asks; undefined when all of theirs are taken. The function gives it back. */
  take(kind: ConnectionKind, principal: Principal, hop: Hop): (() => void) | undefined;
  /** Calls `ended` when the credential of who asks ends, unless the function returned was called before. */
  watch(principal: Principal, ended: (why: AppError) => void): () => void;
  /** What the results of an operation hold of the memory budget, for who sent it. */
  memoryOf(request: IncomingMessage, principal: Principal): OperationMemory;
  /** What an operation is by the rules of every transport. Nothing is counted. */
  kindOf(payload: OperationPayload): "unary" | "subscription" | "refused";
  /**
   * Admits an operation, by the rules of every transport, and counts what it is beyond the request or message that
   * brought it. Throws `rate_limit_exceeded`.
   */
  admit(
    payload: OperationPayload,
    context: StreamContext,
  ): Promise<StreamedOperation | readonly GraphQLError[]>;
  /**
   * Runs an admitted operation: a stream for a subscription, one result for the rest. A stream ends, with a failure,
   * when the credential does that it was opened with.
   */
  run(operation: StreamedOperation): Promise<Results | ExecutionResult>;
  /** A bug of ours on the way to a client, for the log. */
  report(error: unknown): void;
};

/** Makes what the streaming transports share. */
export function createStreams(app: App, graph: Graph, policy: Policy): Streams {
  const { engine, apiSchema, supergraphSdl } = graph;
  const { limits } = policy;
  const { queryMs, mutationMs } = deadlinesOf(app.config);
  const caps = new ConnectionCaps(limits);
  const shared = new SharedStreams();
  const shareKey = createShareKeys(supergraphSdl);
  const open = (operation: StreamedOperation): Promise<Results | ExecutionResult> => {
    const { document, operationName, variableValues, contextValue } = operation;
    const { account, memory } = contextValue;
    const { principal } = account;
    const request = { document, operationName, variables: variableValues, context: { principal } };
    const key = shareKey(operation);
    if (key === undefined) return engine.subscribe({ ...request, context: { principal, memory } });
    return shared.open(document, key, () => engine.subscribe(request));
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
    watch: (principal, ended) => app.credentialWatch.watch(principal, ended),
    kindOf(payload) {
      const admitted = policy.admit(payload);
      if (!("document" in admitted)) return "refused";
      return admitted.operation.operation === OperationTypeNode.SUBSCRIPTION ? "subscription" : "unary";
    },
    async admit(payload, context) {
      const admitted = policy.admit(payload);
      if (!("document" in admitted)) return admitted;
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
    async run(operation) {
      const { document, operationName, variableValues, contextValue } = operation;
      const { account, replayKey, memory, signal } = contextValue;
      const { principal } = account;
      const kind = getOperationAST(document, operationName)?.operation;
      if (kind !== "subscription") {
        const deadline = AbortSignal.timeout(kind === "mutation" ? mutationMs : queryMs);
        const result = await engine.execute({
          document,
          operationName,
          variables: variableValues,
          context: { principal, replayKey, memory },
          signal: signal ? AbortSignal.any([signal, deadline]) : deadline,
        });
        account.noteResult(result);
        return result;
      }
      const opened = await open(operation);
      if (!(Symbol.asyncIterator in opened)) return opened;
      account.noteUse();
      const watch = (ended: (why: AppError) => void) => {
        const stopWatching = app.credentialWatch.watch(principal, ended);
        const stopCounting = app.metrics?.subscription();
        return () => {
          stopWatching();
          stopCounting?.();
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
