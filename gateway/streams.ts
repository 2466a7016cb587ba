import type { DocumentNode, ExecutionResult, GraphQLError, GraphQLSchema } from "graphql";
import { getOperationAST } from "graphql";
import type { App } from "../src/app.ts";
import type { AppError } from "../src/kernel/errors.ts";
import type { Principal } from "../src/keys/principal.ts";
import type { Hop } from "../src/keys/source-address.ts";
import type { Graph } from "./graph.ts";
import { createAdmission } from "./policy.ts";
import { WatchedStream } from "./watched-stream.ts";

/** One admitted operation, in the form that graphql-ws and graphql-sse hand around. */
export type StreamedOperation = {
  readonly schema: GraphQLSchema;
  readonly document: DocumentNode;
  readonly operationName?: string | null | undefined;
  readonly variableValues?: Readonly<Record<string, unknown>> | null | undefined;
  /** Who asks. */
  readonly contextValue: Principal;
};

/** An operation as a client sends it. */
type OperationPayload = {
  readonly query: string;
  readonly operationName?: string | null | undefined;
  readonly variables?: Readonly<Record<string, unknown>> | null | undefined;
};

/** What all streaming transports share: who asks, whether it may be asked, and the asking. */
export type Streams = {
  /** Who presents this credential, as a header or as a connection parameter. Throws as REST does. The use is noted. */
  authenticate(authorization: unknown, hop: Hop): Promise<Principal>;
  /** Calls `ended` when the credential of who asks ends, unless the function returned was called before. */
  watch(principal: Principal, ended: (why: AppError) => void): () => void;
  /** Parses and validates an operation, by the rules of every transport. */
  admit(payload: OperationPayload, principal: Principal): StreamedOperation | readonly GraphQLError[];
  /**
   * Runs an admitted operation: a stream for a subscription, one result for the rest. A stream ends, with a failure,
   * when the credential does that it was opened with.
   */
  run(operation: StreamedOperation): Promise<AsyncIterableIterator<ExecutionResult> | ExecutionResult>;
};

/** Makes what the streaming transports share. */
export function createStreams(app: App, { engine, apiSchema }: Graph, introspection: boolean): Streams {
  const admit = createAdmission(apiSchema, introspection);
  return {
    async authenticate(authorization, hop) {
      const given = authorization === undefined ? undefined : String(authorization);
      const principal = await app.door.enter({ authorization: given, hop });
      app.keyUse.record(principal, hop);
      return principal;
    },
    watch: (principal, ended) => app.credentialWatch.watch(principal, ended),
    admit({ query, operationName, variables }, principal) {
      const admitted = admit(query);
      if (!("kind" in admitted)) return admitted;
      return {
        schema: apiSchema,
        document: admitted,
        operationName,
        variableValues: variables,
        contextValue: principal,
      };
    },
    async run({ document, operationName, variableValues, contextValue }) {
      const request = {
        document,
        operationName,
        variables: variableValues,
        context: { principal: contextValue },
      };
      const isStream = getOperationAST(document, operationName)?.operation === "subscription";
      if (!isStream) return engine.execute(request);
      const opened = await engine.subscribe(request);
      if (!(Symbol.asyncIterator in opened)) return opened;
      return new WatchedStream(opened, (ended) => {
        const stopWatching = app.credentialWatch.watch(contextValue, ended);
        const stopCounting = app.metrics?.subscription();
        return () => {
          stopWatching();
          stopCounting?.();
        };
      });
    },
  };
}
