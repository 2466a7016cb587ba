import type { DocumentNode, ExecutionResult, GraphQLError, GraphQLSchema } from "graphql";
import { getOperationAST } from "graphql";
import type { App } from "../src/app.ts";
import { ANONYMOUS, type Principal } from "../src/keys/principal.ts";
import type { Hop } from "../src/keys/source-address.ts";
import type { Graph } from "./graph.ts";
import { createAdmission } from "./policy.ts";

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
  /** Parses and validates an operation, by the rules of every transport. */
  admit(payload: OperationPayload, principal: Principal): StreamedOperation | readonly GraphQLError[];
  /** Runs an admitted operation: a stream for a subscription, one result for the rest. */
  run(operation: StreamedOperation): Promise<AsyncIterableIterator<ExecutionResult> | ExecutionResult>;
};

/** Makes what the streaming transports share. */
export function createStreams(app: App, { engine, apiSchema }: Graph, introspection: boolean): Streams {
  const admit = createAdmission(apiSchema, introspection);
  return {
    async authenticate(authorization, hop) {
      if (authorization === undefined) return ANONYMOUS;
      const principal = await app.authenticate(String(authorization));
      app.keyUse.record(principal, hop);
      return principal;
    },
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
      return isStream ? engine.subscribe(request) : engine.execute(request);
    },
  };
}
