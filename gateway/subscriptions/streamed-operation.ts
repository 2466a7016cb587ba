import type { DocumentNode, ExecutionResult, GraphQLSchema } from "graphql";
import type { OperationMemory } from "../../src/load/operation-memory.ts";
import type { GraphContext } from "../federation/graph.ts";
import type { OperationAccount } from "../graph/operation-account.ts";

/** Who asks, and until when. */
export type StreamContext = Pick<GraphContext, "replayKey"> & {
  readonly account: OperationAccount;
  /** What its results hold of the memory budget. The transport ends it when the operation is over. */
  readonly memory: OperationMemory;
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
