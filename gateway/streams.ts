import { type ExecutionResult, type GraphQLError, getOperationAST } from "graphql";
import type { App } from "../src/app.ts";
import type { GraphLimits } from "../src/graph-limits.ts";
import type { AppError } from "../src/kernel/errors.ts";
import type { Principal } from "../src/keys/principal.ts";
import { type Hop, networkOf, sourceAddress } from "../src/keys/source-address.ts";
import { ConnectionCaps, type ConnectionKind } from "./connection-caps.ts";
import type { EventOutlet } from "./event-outlet.ts";
import { deadlinesOf, type Graph } from "./graph.ts";
import type { OperationPayload, Policy } from "./policy.ts";
import { createShareKeys, SharedStreams } from "./shared-streams.ts";
import type { Results, StreamContext, StreamedOperation } from "./streamed-operation.ts";
import { WatchedStream } from "./watched-stream.ts";

/** What all streaming transports share: who asks, whether it may be asked, and the asking. */
export type Streams = {
  readonly limits: GraphLimits;
  /** How long a client may leave what was written to it unread. */
  readonly stallMs: number;
  /** Responses that are being streamed: they are ended with the server. */
  readonly outlets: Set<EventOutlet>;
  /** Connections that are open, counted by who opened them. */
  readonly caps: ConnectionCaps;
  /** Who presents this credential, as a header or as a connection parameter. Throws as REST does. The use is noted. */
  authenticate(authorization: unknown, hop: Hop): Promise<Principal>;
  /** Takes a place for one more connection of who asks; undefined when all of theirs are taken. The function gives it back. */
  take(kind: ConnectionKind, principal: Principal, hop: Hop): (() => void) | undefined;
  /** Calls `ended` when the credential of who asks ends, unless the function returned was called before. */
  watch(principal: Principal, ended: (why: AppError) => void): () => void;
  /** Admits an operation, by the rules of every transport. */
  admit(payload: OperationPayload, context: StreamContext): StreamedOperation | readonly GraphQLError[];
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
    const { principal } = contextValue;
    const request = { document, operationName, variables: variableValues, context: { principal } };
    const key = shareKey(operation);
    if (key === undefined) return engine.subscribe(request);
    return shared.open(document, key, () => engine.subscribe(request));
  };
  return {
    limits,
    stallMs: app.config.CLIENT_STALL_MS,
    outlets: new Set(),
    caps,
    async authenticate(authorization, hop) {
      const given = authorization === undefined ? undefined : String(authorization);
      const principal = await app.door.enter({ authorization: given, hop });
      app.keyUse.record(principal, hop);
      return principal;
    },
    take(kind, principal, hop) {
      if (principal.kind !== "anonymous") return caps.takeOfKey(kind, credentialOf(principal));
      return caps.takeOfAddress(networkOf(sourceAddress(hop, app.trustedProxies) ?? ""));
    },
    watch: (principal, ended) => app.credentialWatch.watch(principal, ended),
    admit(payload, context) {
      const admitted = policy.admit(payload);
      if (!("document" in admitted)) return admitted;
      const { operationName, variables } = payload;
      return {
        schema: apiSchema,
        document: admitted.document,
        operationName,
        variableValues: variables,
        contextValue: context,
      };
    },
    async run(operation) {
      const { document, operationName, variableValues, contextValue } = operation;
      const { principal, replayKey, signal } = contextValue;
      const kind = getOperationAST(document, operationName)?.operation;
      if (kind !== "subscription") {
        const deadline = AbortSignal.timeout(kind === "mutation" ? mutationMs : queryMs);
        return engine.execute({
          document,
          operationName,
          variables: variableValues,
          context: { principal, replayKey },
          signal: signal ? AbortSignal.any([signal, deadline]) : deadline,
        });
      }
      const opened = await open(operation);
      if (!(Symbol.asyncIterator in opened)) return opened;
      return new WatchedStream(opened, (ended) => {
        const stopWatching = app.credentialWatch.watch(principal, ended);
        const stopCounting = app.metrics?.subscription();
        return () => {
          stopWatching();
          stopCounting?.();
        };
      });
    },
    report: (error) => app.log.error({ err: error }, "a stream failed"),
  };
}

function credentialOf(principal: Exclude<Principal, { kind: "anonymous" }>): string {
  return principal.kind === "wallet-session" ? principal.sessionId : principal.keyId;
}
