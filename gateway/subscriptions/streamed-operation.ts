import type { DocumentNode, ExecutionResult, GraphQLSchema } from "graphql";
import type { OperationMemory } from "../../src/load/operation-memory.ts";
import type { GraphContext } from "../federation/graph.ts";
import type { OperationAccount } from "../graph/operation-account.ts";

/** The caller, and the signal that aborts the operation. */
export type StreamContext = Pick<GraphContext, "replayKey"> & {
  readonly account: OperationAccount;
  /** The memory budget of its results. The transport ends it when the operation is over. */
  readonly memory: OperationMemory;
  readonly signal?: AbortSignal | undefined;
};

/** One admitted operation, in the form that graphql-ws passes around. */
export type StreamedOperation = {
  readonly schema: GraphQLSchema;
  readonly document: DocumentNode;
  readonly operationName?: string | null | undefined;
  readonly variableValues?: Readonly<Record<string, unknown>> | null | undefined;
  readonly contextValue: StreamContext;
};

/** Results as they arrive. `return()` ends them at once. `next()` throws when the source is lost. */
export type Results = AsyncIterableIterator<ExecutionResult>;
