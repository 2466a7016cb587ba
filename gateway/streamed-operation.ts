import type { DocumentNode, ExecutionResult, GraphQLSchema } from "graphql";
import type { GraphContext } from "./graph.ts";
import type { OperationAccount } from "./operation-account.ts";

/** Who asks, and until when. */
export type StreamContext = Pick<GraphContext, "replayKey"> & {
  readonly account: OperationAccount;
  readonly signal?: AbortSignal | undefined;
};

/** One admitted operation, in the form that graphql-ws hands around. */
export type StreamedOperation = {
  readonly schema: GraphQLSchema;
  readonly document: DocumentNode;
  readonly operationName?: string | null | undefined;
  readonly variableValues?: Readonly<Record<string, unknown>> | null | undefined;
  readonly contextValue: StreamContext;
};

/** Results as they come. `return()` ends them at once. A source that is lost makes `next()` throw. */
export type Results = AsyncIterableIterator<ExecutionResult>;
