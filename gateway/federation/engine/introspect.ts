import { setImmediate as nextTurn } from "node:timers/promises";
import {
  type DocumentNode,
  type ExecutionResult,
  execute,
  GraphQLError,
  type GraphQLNamedType,
  type GraphQLSchema,
} from "graphql";
import type { JsonObject, MaybePromise } from "./subgraph-executor.ts";

/** Runs introspections one after another, each of which takes several turns of the event loop. */
export type IntrospectionQueue = <T>(run: () => Promise<T>) => Promise<T>;

/** Answers `__schema` and `__type` from the schema. */
export type Introspect = (
  document: DocumentNode,
  variables: Readonly<JsonObject>,
  signal?: AbortSignal,
) => MaybePromise<ExecutionResult>;

/** Types whose introspection takes a few milliseconds, and ten of a process that has just started. */
const TYPES_PER_TURN = 32;

/** Creates the introspection of a schema: at once, or, with a queue, in turns of the event loop. */
export function createIntrospect(api: GraphQLSchema, queue?: IntrospectionQueue): Introspect {
  if (!queue) return (document, variableValues) => execute({ schema: api, document, variableValues });
  const schema = withTypesInTurns(api);
  return (document, variableValues, signal) =>
    queue(async () => {
      if (signal?.aborted) throw gaveUp();
      return execute({ schema, document, variableValues });
    });
}

/** The same schema to graphql-js, which completes the promises of `__schema.types` when they resolve. */
function withTypesInTurns(api: GraphQLSchema): GraphQLSchema {
  const types = Object.entries(api.getTypeMap());
  const getTypeMap = () => {
    const later: Record<string, GraphQLNamedType | Promise<GraphQLNamedType>> = {};
    let turn: Promise<void> | undefined;
    for (const [n, [name, type]] of types.entries()) {
      if (n > 0 && n % TYPES_PER_TURN === 0) turn = turn ? turn.then(() => nextTurn()) : nextTurn();
      later[name] = turn ? turn.then(() => type) : type;
    }
    return later;
  };
  // graphql-js looks up the conditions of fragments by `getType`, which reads `getTypeMap`.
  const getType = (name: string) => api.getType(name);
  return Object.create(api, { getTypeMap: { value: getTypeMap }, getType: { value: getType } });
}

/** The client disconnected, or the deadline passed, while the operation waited for its turn. */
function gaveUp(): GraphQLError {
  const extensions = { code: "unavailable" };
  return new GraphQLError("The operation did not start in time. Try again later.", { extensions });
}
