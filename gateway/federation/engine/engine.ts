import { type ExecutionResult, GraphQLError, type GraphQLSchema } from "graphql";
import { InvalidVariables } from "./document/variables.ts";
import type { ReportFailure } from "./execution.ts";
import { createGuardedFields, denialsOf, type GuardOf } from "./guards.ts";
import type { ResultInParts } from "./incremental/parts.ts";
import { createIntrospect, type IntrospectionQueue } from "./introspect.ts";
import {
  createFlags,
  createLifting,
  type ExecutionRequest,
  type LiftedRequest,
} from "./operation-request.ts";
import type { Planner } from "./planner.ts";
import { readSupergraph, type Supergraph } from "./planning/api-schema.ts";
import { interfaceObjectFields } from "./planning/interface-objects.ts";
import { PlanCache } from "./planning/plan-cache.ts";
import { type Prepared, prepareOperation } from "./planning/prepare.ts";
import { readRequirements } from "./planning/requirements.ts";
import { createRollouts, type RolloutOptions } from "./planning/rollout.ts";
import { SubgraphOperations } from "./planning/subgraph-operations.ts";
import { createTypeIndex } from "./planning/type-index.ts";
import { type Run, runInParts, runOperation, runSubscription } from "./run-operation.ts";
import { isPromise, type MaybePromise, type SubgraphExecutor } from "./subgraph-executor.ts";
import type { ReportViolations } from "./violations.ts";

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
  readonly reportViolations?: ReportViolations;
  /** Guards of fields; without it all fields are open. A denied field is not planned. */
  readonly guardOf?: GuardOf<C>;
  /** How long to try resuming a subscription that lost its source before reporting the loss. */
  readonly resumeMs?: number;
  /** Without it, an introspection runs at once, for tens of milliseconds. */
  readonly introspectionQueue?: IntrospectionQueue;
  /** Selects the active progressive overrides; `percent(p)` overrides are random by default. */
  readonly rollout?: RolloutOptions<C>;
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
  const introspect = createIntrospect(api, options.introspectionQueue);
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
  const lift = createLifting<C>(api, options.reportViolations ?? (() => {}));
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
      const begin = (ready: Prepared<C>) => run(introspect, ready, request);
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
