import {
  createSourceEventStream,
  type DocumentNode,
  type ExecutionResult,
  execute,
  GraphQLError,
  type GraphQLErrorExtensions,
  type GraphQLSchema,
} from "graphql";

import { type CompiledQuery, compileQuery, isCompiledQuery } from "graphql-jit";
import { ByteLru } from "../../src/kernel/byte-lru.ts";
import { AppError } from "../../src/kernel/errors.ts";
import { oncePer } from "../../src/kernel/once-per.ts";
import { Slot } from "../../src/kernel/slot.ts";
import { hasRecursiveVariable, nestedVariables } from "../../subgraphs/shared/schema/variable-usage.ts";
import { MapIterator } from "./engine/map-iterator.ts";
import {
  isPromise,
  type SubgraphExecutor,
  type SubgraphRequest,
  type SubgraphResult,
} from "./engine/subgraph-executor.ts";

/** A subgraph in this process. `C` is the gateway's context, `S` the subgraph's. */
export type LocalExecutorOptions<C, S> = {
  readonly schema: GraphQLSchema;
  /**
   * Called once per client request and per event of a subscription: each gets fresh loaders. `signal` aborts when
   * the client disconnects.
   */
  readonly contextOf: (context: C, signal?: AbortSignal) => S;
  /** Receives unexpected errors of resolvers, which are not shown to clients. */
  readonly reportBug?: (error: unknown) => void;
  /** The number of compiled operations to cache. */
  readonly compiledLimit?: number;
};

const DEFAULT_COMPILED_LIMIT = 2_000;
const MAX_COMPILED_BYTES = 32 * 1_048_576;
/** A compiled operation takes about this many bytes per character of its text. */
const BYTES_PER_CHARACTER = 400;

/**
 * Runs a subgraph's operations in this process. Operations whose code is kept are compiled to JavaScript; graphql-js
 * runs the others, nearly all of which occur only once. Compiled code that runs once costs more than it saves, and
 * stays in memory until a full garbage collection.
 */
export function createLocalExecutor<C, S>(options: LocalExecutorOptions<C, S>): SubgraphExecutor<C> {
  const { schema, contextOf, reportBug = () => {} } = options;
  const compile = createCompiler(schema, options.compiledLimit ?? DEFAULT_COMPILED_LIMIT);
  const contexts = new Slot<object, { readonly context: S }>();
  const contextIn = ({ scope, context, signal }: SubgraphRequest<C>): S => {
    const known = contexts.get(scope) ?? { context: contextOf(context, signal) };
    contexts.set(scope, known);
    return known.context;
  };
  const report = (result: ExecutionResult): SubgraphResult => {
    for (const error of result.errors ?? []) {
      const bug = bugBehind(error);
      if (bug) reportBug(bug);
    }
    return result;
  };
  const run = (request: SubgraphRequest<C>, root: unknown, context: S) => {
    const compiled = compile(request);
    if (!("query" in compiled)) return report(compiled);
    const result = compiled.query(root, context, request.variables);
    return isPromise(result) ? result.then(report) : report(result);
  };
  return {
    execute: (request) => run(request, undefined, contextIn(request)),
    async subscribe(request) {
      const { document, variables } = request;
      const contextValue = contextOf(request.context);
      const source = await createSourceEventStream({
        schema,
        document,
        variableValues: variables,
        contextValue,
      });
      if (!isIterable(source)) return report(source);
      return new MapIterator(endWithFailure(source[Symbol.asyncIterator]()), {
        map: (event) =>
          event instanceof Failure ? event.result : run(request, event, contextOf(request.context)),
        mapError: (reason) => reason,
        onEnd: () => {},
      });
    },
    close: async () => {},
  };
}

type Runnable = Pick<CompiledQuery, "query">;
type Compiled = Runnable | ExecutionResult;

/**
 * Compiles an operation with graphql-jit where that is correct. graphql-jit never finishes compiling a variable
 * whose type contains itself, and writes null for an undefined variable inside an object or a list: graphql-js runs
 * those operations.
 */
function compileOperation(schema: GraphQLSchema, document: DocumentNode): Compiled {
  const interpreted = interpretOperation(schema, document);
  if (hasRecursiveVariable(schema, document)) return interpreted;
  const compiled = compileQuery(schema, document);
  const nested = nestedVariables(document);
  if (nested.length === 0 || !isCompiledQuery(compiled)) return compiled;
  return {
    query(root, context, given) {
      const isWhole = nested.every((name) => given !== undefined && given !== null && name in given);
      return (isWhole ? compiled : interpreted).query(root, context, given);
    },
  };
}

function interpretOperation(schema: GraphQLSchema, document: DocumentNode): Runnable {
  return {
    query: (rootValue, contextValue, given) =>
      execute({ schema, document, rootValue, contextValue, variableValues: given ?? {} }),
  };
}

/** Compiled operations, by document object and then by text: many plans send the same one. */
function createCompiler(
  schema: GraphQLSchema,
  limit: number,
): (request: Pick<SubgraphRequest<unknown>, "document" | "text">) => Compiled {
  const knownOf = oncePer((_: DocumentNode): { compiled?: Compiled } => ({}));
  const byText = new ByteLru<{ compiled?: Compiled }>({
    ...{ maxEntries: limit, maxBytes: MAX_COMPILED_BYTES, isSelective: true },
  });
  return ({ document, text }) => {
    const known = knownOf(document);
    if (known.compiled) return known.compiled;
    const kept = byText.get(text) ?? {};
    const isKept = kept.compiled || byText.set(text, kept, text.length * BYTES_PER_CHARACTER);
    if (!isKept) return interpretOperation(schema, document);
    kept.compiled ??= compileOperation(schema, document);
    known.compiled = kept.compiled;
    return kept.compiled;
  };
}

/** The last event of a source that failed with an error shown to clients. */
class Failure {
  readonly result: SubgraphResult;

  constructor(error: GraphQLError) {
    this.result = { data: null, errors: [error] };
  }
}

/** Turns a named error of a source into its last event; any other error means that it is lost, and is thrown. */
function endWithFailure(source: AsyncIterator<unknown>): AsyncIterator<unknown> {
  let failed = false;
  return {
    async next() {
      if (failed) return { done: true, value: undefined };
      return source.next().catch((reason: unknown) => {
        if (!(reason instanceof GraphQLError) || bugBehind(reason)) throw reason;
        failed = true;
        return { done: false, value: new Failure(reason) };
      });
    },
    return: () => source.return?.() ?? Promise.resolve({ done: true, value: undefined }),
  };
}

/**
 * The original error of a GraphQLError, unless it is an expected error, which has a code. A value that a scalar cannot
 * write, or a null that the schema does not allow, is an error without one.
 */
function bugBehind(error: GraphQLError): Error | undefined {
  let cause: Error = error;
  while (cause instanceof GraphQLError && cause.originalError) cause = cause.originalError;
  const isExpected = cause instanceof AppError || (cause instanceof GraphQLError && isNamed(cause));
  return isExpected ? undefined : cause;
}

/** graphql-jit makes errors without `extensions`. */
function isNamed({ extensions }: { readonly extensions?: GraphQLErrorExtensions }): boolean {
  return extensions?.code !== undefined && extensions.code !== "internal_error";
}

function isIterable(value: object): value is AsyncIterable<unknown> {
  return Symbol.asyncIterator in value;
}
