import {
  type DocumentNode,
  type ExecutionResult,
  execute,
  GraphQLError,
  type GraphQLSchema,
  getOperationAST,
  type OperationDefinitionNode,
} from "graphql";
import type { Postponed } from "./completion.ts";
import { type LiftedOperation, liftLiterals } from "./document/lift-literals.ts";
import { conditionVariables } from "./document/planner-document.ts";
import { coerceVariables, InvalidVariables, refuseNulls } from "./document/variables.ts";
import type { Execution, ReportFailure } from "./execution.ts";
import { denialsOf, findGuardedFields, type GuardedFields, type GuardOf } from "./guards.ts";
import { LaterParts } from "./incremental/answer.ts";
import type { LaterStage } from "./incremental/later-stages.ts";
import type { ResultInParts } from "./incremental/parts.ts";
import { isReached } from "./incremental/postponed.ts";
import type { Planner } from "./planner.ts";
import { readSupergraph, type Supergraph } from "./planning/api-schema.ts";
import { interfaceObjectFields } from "./planning/interface-objects.ts";
import { PlanCache } from "./planning/plan-cache.ts";
import { type Prepared, prepareOperation } from "./planning/prepare.ts";
import { readRequirements } from "./planning/requirements.ts";
import { createRollouts, type RolloutOptions } from "./planning/rollout.ts";
import { SubgraphOperations } from "./planning/subgraph-operations.ts";
import { createTypeIndex } from "./planning/type-index.ts";
import type { Project } from "./projection.ts";
import { refusal } from "./refusal.ts";
import { isPromise, type JsonObject, type MaybePromise, type SubgraphExecutor } from "./subgraph-executor.ts";
import { openSubscription } from "./subscription.ts";
import { explain } from "./violations.ts";

/** The dependencies of an engine. Executors are keyed by the subgraph names in the supergraph. */
export type EngineOptions<C> = {
  readonly supergraphSdl: string;
  /** What `readSupergraph` made of it, if the caller has read it. */
  readonly views?: Supergraph;
  readonly planner: Planner;
  readonly executors: Readonly<Record<string, SubgraphExecutor<C>>>;
  /** The number of compiled operations to cache, by text. */
  readonly planLimit?: number;
  /** Receives every failed subgraph request. */
  readonly reportFailure?: ReportFailure;
  /** Guards of fields; without it all fields are open. A denied field is not planned. */
  readonly guardOf?: GuardOf<C>;
  /** How long to try resuming a subscription that lost its source before reporting the loss. */
  readonly resumeMs?: number;
  /** Resolves when the next introspection may run, which takes tens of milliseconds. Optional. */
  readonly introspectionTurn?: () => Promise<void>;
  /** Selects the active progressive overrides; `percent(p)` overrides are random by default. */
  readonly rollout?: RolloutOptions<C>;
};

/** One client operation. The document must be parsed and valid against the engine's `apiSchema`. */
type ExecutionRequest<C> = {
  readonly document: DocumentNode;
  readonly operationName?: string | null | undefined;
  readonly variables?: Readonly<JsonObject> | null | undefined;
  readonly context: C;
  readonly signal?: AbortSignal | undefined;
};

/** Runs operations on the whole graph through subgraph requests. `C` is passed to the executors as is. */
export interface Engine<C> {
  /** The public schema: the one that clients query and introspect. */
  readonly apiSchema: GraphQLSchema;
  /** Runs a query or a mutation. Expected failures are in `errors`; it throws only on a bug. */
  execute(request: ExecutionRequest<C>): MaybePromise<ExecutionResult>;
  /** The same, in parts where `@defer` and `@stream` ask for it: their requests run as the parts are read. */
  executeIncrementally(request: ExecutionRequest<C>): MaybePromise<ExecutionResult | ResultInParts>;
  /** Opens a subscription, or returns the reason why it cannot in `errors`. A lost source makes `next()` throw. */
  subscribe(request: ExecutionRequest<C>): Promise<AsyncIterableIterator<ExecutionResult> | ExecutionResult>;
}

const DEFAULT_PLAN_LIMIT = 4_000;
const DEFAULT_RESUME_MS = 60_000;

/** Creates the engine of one supergraph. */
export function createEngine<C>(options: EngineOptions<C>): Engine<C> {
  const { full, api } = options.views ?? readSupergraph(options.supergraphSdl);
  const { planner, executors, reportFailure = () => {}, resumeMs = DEFAULT_RESUME_MS } = options;
  const { introspectionTurn } = options;
  const plans = new PlanCache<Prepared<C>>({
    maxEntries: options.planLimit ?? DEFAULT_PLAN_LIMIT,
    bytesOf: ({ sizeBytes }) => sizeBytes,
  });
  const subgraph = (name: string) => {
    const executor = executors[name];
    if (!executor) throw new Error(`there is no executor for the subgraph ${name}`);
    return { name, executor, reportFailure };
  };
  const preparation = {
    api,
    planner,
    flattening: { schema: api, interfaceObjectFields: interfaceObjectFields(full) },
    planContext: {
      supergraph: full,
      types: createTypeIndex(full),
      requirements: readRequirements(full),
      operations: new SubgraphOperations(),
      subgraph,
    },
  };
  const guardedIn = createGuardedFields(api, options.guardOf);
  const rolloutOf = createRollouts(full, options.rollout);
  const flagsOf = createFlags();
  const lift = createLifting<C>(api);
  const prepare = (request: LiftedRequest<C>, isIncremental = false) => {
    const { document, operationName = null, context, variables } = request;
    const { denied, key } = denialsOf(guardedIn(document), context);
    const rollout = rolloutOf(context);
    const flags = flagsOf(document, variables);
    const variant = `${operationName ?? ""}${key}${rollout.key}${flags}${isIncremental ? " @" : ""}`;
    return plans.get(document, variant, () =>
      prepareOperation(preparation, {
        ...{ document, operationName, denied, rollout },
        ...{ flags: variables, isIncremental },
      }),
    );
  };
  const start = <R>(given: ExecutionRequest<C>, isIncremental: boolean, run: Run<C, R>) =>
    orRefusal(() => {
      const request = lift(given);
      const prepared = prepare(request, isIncremental);
      const begin = (ready: Prepared<C>): MaybePromise<R | ExecutionResult> => {
        if (!ready.introspection || !introspectionTurn) return run(api, ready, request);
        return introspectionTurn().then(() =>
          request.signal?.aborted ? gaveUp() : run(api, ready, request),
        );
      };
      return isPromise(prepared) ? prepared.then(begin) : begin(prepared);
    });
  return {
    apiSchema: api,
    execute: (request) => start(request, false, runOperation),
    executeIncrementally: (request) => start(request, true, runInParts),
    async subscribe(given) {
      return orRefusal(async () => {
        const request = lift(given);
        return runSubscription(await prepare(request), request, resumeMs);
      });
    },
  };
}

/** Runs a prepared operation. */
type Run<C, R> = (
  api: GraphQLSchema,
  prepared: Prepared<C>,
  request: LiftedRequest<C>,
) => MaybePromise<R | ExecutionResult>;

/** Finds the guarded fields of a document once per document. */
function createGuardedFields<C>(
  api: GraphQLSchema,
  guardOf: GuardOf<C> | undefined,
): (document: DocumentNode) => GuardedFields<C> {
  if (!guardOf) return () => [];
  const known = new WeakMap<DocumentNode, GuardedFields<C>>();
  return (document) => {
    const fields = known.get(document) ?? findGuardedFields(api, document, guardOf);
    known.set(document, fields);
    return fields;
  };
}

/** An operation without literals, and the values of all of its variables. */
type LiftedRequest<C> = ExecutionRequest<C> & { readonly variables: Readonly<JsonObject> };

/** Lifts the literals of a document once per document. */
function createLifting<C>(api: GraphQLSchema): (request: ExecutionRequest<C>) => LiftedRequest<C> {
  const known = new WeakMap<DocumentNode, Map<OperationDefinitionNode, LiftedOperation>>();
  const liftedOf = (document: DocumentNode, operation: OperationDefinitionNode) => {
    const operations = known.get(document) ?? new Map<OperationDefinitionNode, LiftedOperation>();
    known.set(document, operations);
    const lifted = operations.get(operation) ?? liftLiterals(api, document, operation);
    operations.set(operation, lifted);
    return lifted;
  };
  return (request) => {
    const { document, operationName = null } = request;
    const operation = getOperationAST(document, operationName);
    if (!operation) throw refusal(unknownOperation(operationName));
    const given = coerceVariables(api, operation, request.variables);
    const lifted = liftedOf(document, operation);
    refuseNulls(lifted.required, given);
    return { ...request, document: lifted.document, variables: { ...given, ...lifted.values(given) } };
  };
}

function unknownOperation(operationName: string | null): string {
  return operationName === null
    ? "The document has several operations: send the operationName of one."
    : `The document has no operation named "${operationName}".`;
}

/** The values of an operation's conditions, as a cache key: each combination has its own plan. */
function createFlags(): (document: DocumentNode, variables: Readonly<JsonObject>) => string {
  const known = new WeakMap<DocumentNode, readonly string[]>();
  return (document, variables) => {
    const names = known.get(document) ?? conditionVariables(document);
    known.set(document, names);
    return names.length > 0 ? `?${names.map((name) => (variables[name] === true ? 1 : 0)).join("")}` : "";
  };
}

function runOperation<C>(
  api: GraphQLSchema,
  prepared: Prepared<C>,
  request: LiftedRequest<C>,
): MaybePromise<ExecutionResult> {
  if (!prepared.run) throw refusal("A subscription returns a stream, not a single response.");
  const execution = startExecution(prepared.project, request);
  const finish = () => finishExecution(prepared.project, execution);
  if (prepared.introspection) introspect(api, prepared.introspection, request, execution);
  const running = prepared.run(execution);
  return running && isPromise(running) ? running.then(finish) : finish();
}

/** More places of fragments and lists than this are delivered at once. */
const MAX_PENDING = 1_000;

async function runInParts<C>(
  api: GraphQLSchema,
  prepared: Prepared<C>,
  request: LiftedRequest<C>,
): Promise<ExecutionResult | ResultInParts> {
  const { project, introspection, run, later } = prepared;
  if (!later || !run) return runOperation(api, prepared, request);
  const abort = new AbortController();
  const signal = request.signal ? AbortSignal.any([request.signal, abort.signal]) : abort.signal;
  const execution = startExecution(project, { ...request, signal });
  if (introspection) introspect(api, introspection, request, execution);
  await run(execution);
  const postponed: Postponed[] = [];
  const first = finishExecution(project, execution, postponed);
  const reached = postponed.filter(({ path }) => isReached(first.data, path));
  if (reached.length === 0) return first;
  if (reached.length > MAX_PENDING) {
    await Promise.all([...later.stages.values()].map((stage) => stage.run(execution)));
    for (const stage of later.stages.values()) addFailures(execution, stage.failuresIn(execution));
    return finishExecution(later.projectWhole, execution);
  }
  const rest = new LaterParts(execution, later.stages, {
    postponed: reached,
    stop: () => abort.abort(new Error("the parts of the result are no longer read")),
  });
  return { first, pending: rest.pending, rest };
}

/** A request of several fragments failed once. */
function addFailures<C>(
  { errors, nulled }: Execution<C>,
  failures: ReturnType<LaterStage<C>["failuresIn"]>,
): void {
  for (const error of failures.errors) if (!errors.includes(error)) errors.push(error);
  nulled.push(...failures.nulled);
}

function runSubscription<C>(
  prepared: Prepared<C>,
  request: LiftedRequest<C>,
  resumeMs: number,
): Promise<AsyncIterableIterator<ExecutionResult> | ExecutionResult> {
  if (!prepared.subscription) throw refusal("Only a subscription returns a stream.");
  return openSubscription(prepared.subscription, {
    start: () => startExecution(prepared.project, request),
    finish: (execution) => finishExecution(prepared.project, execution),
    resumeMs,
  });
}

function startExecution<C>(project: Project, { context, signal, variables }: LiftedRequest<C>): Execution<C> {
  const data: JsonObject = {};
  const isBroken = () => project(data, { variables, path: [], violations: [], isPartial: true }) === null;
  return { context, signal, variables, data, errors: [], nulled: [], isBroken };
}

function finishExecution<C>(
  project: Project,
  execution: Execution<C>,
  postponed?: Postponed[],
): ExecutionResult {
  const { variables, errors, nulled } = execution;
  const run = { variables, path: [], violations: [], ...(postponed && { postponed }) };
  const data = project(execution.data, run);
  if (run.violations.length > 0) errors.push(...explain(run.violations, errors, nulled));
  return errors.length > 0 ? { data, errors } : { data };
}

/** The client disconnected, or the deadline passed, while the operation waited for its turn. */
function gaveUp(): ExecutionResult {
  const extensions = { code: "unavailable" };
  return {
    errors: [new GraphQLError("The operation did not start in time. Try again later.", { extensions })],
  };
}

/** Answers `__schema` and `__type` from the schema; their part of the result needs no projection. */
function introspect<C>(
  schema: GraphQLSchema,
  document: DocumentNode,
  { variables }: LiftedRequest<C>,
  execution: Execution<C>,
): void {
  const result = execute({ schema, document, variableValues: variables });
  if (isPromise(result)) throw new Error("introspection has no resolvers to wait for");
  Object.assign(execution.data, result.data);
  execution.errors.push(...(result.errors ?? []));
}

/** Turns a client error into a result; any other error is thrown. */
function orRefusal<T>(run: () => MaybePromise<T | ExecutionResult>): MaybePromise<T | ExecutionResult> {
  const refuse = (reason: unknown): ExecutionResult => {
    if (reason instanceof GraphQLError) return { errors: [reason] };
    if (reason instanceof InvalidVariables) return { errors: reason.errors };
    throw reason;
  };
  try {
    const result = run();
    return isPromise(result) ? result.catch(refuse) : result;
  } catch (reason) {
    return refuse(reason);
  }
}
