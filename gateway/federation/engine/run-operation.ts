import type { DocumentNode, ExecutionResult, GraphQLError } from "graphql";
import type { Postponed } from "./completion.ts";
import { introspectionKey } from "./document/aliases.ts";
import type { Execution } from "./execution.ts";
import { LaterParts } from "./incremental/answer.ts";
import { isErrorOf, LaterErrors } from "./incremental/later-errors.ts";
import type { LaterStage } from "./incremental/later-stages.ts";
import type { ResultInParts } from "./incremental/parts.ts";
import { isReached } from "./incremental/postponed.ts";
import type { Introspect } from "./introspect.ts";
import type { LiftedRequest } from "./operation-request.ts";
import type { Prepared } from "./planning/prepare.ts";
import type { Project } from "./projection.ts";
import { refusal } from "./refusal.ts";
import { isPromise, type JsonObject, type MaybePromise } from "./subgraph-executor.ts";
import { openSubscription } from "./subscription.ts";
import { Explanations, explain } from "./violations.ts";

/** Runs a prepared operation. */
export type Run<C, R> = (
  introspect: Introspect,
  prepared: Prepared<C>,
  request: LiftedRequest<C>,
) => MaybePromise<R | ExecutionResult>;

/** More places of fragments and lists than this are delivered at once. */
const MAX_PENDING = 1_000;

/** Runs a query or a mutation; a client error is thrown, as in the functions below. */
export function runOperation<C>(
  introspect: Introspect,
  prepared: Prepared<C>,
  request: LiftedRequest<C>,
): MaybePromise<ExecutionResult> {
  const { run, introspection } = prepared;
  if (!run) throw refusal("A subscription returns a stream, not a single response.");
  const execution = startExecution(prepared.project, request);
  const finish = () => finishExecution(prepared.project, execution);
  const proceed = () => {
    const running = run(execution);
    return running && isPromise(running) ? running.then(finish) : finish();
  };
  const introspected = introspection && addIntrospection(introspect, introspection, request, execution);
  return introspected ? introspected.then(proceed) : proceed();
}

/** Runs it in parts, where `@defer` and `@stream` postpone some of its result. */
export async function runInParts<C>(
  introspect: Introspect,
  prepared: Prepared<C>,
  request: LiftedRequest<C>,
): Promise<ExecutionResult | ResultInParts> {
  const { project, introspection, run, later } = prepared;
  if (!later || !run) return runOperation(introspect, prepared, request);
  const abort = new AbortController();
  const signal = request.signal ? AbortSignal.any([request.signal, abort.signal]) : abort.signal;
  const execution = startExecution(project, { ...request, signal });
  if (introspection) await addIntrospection(introspect, introspection, request, execution);
  await run(execution);
  const found = execution.errors.length;
  const postponed: Postponed[] = [];
  const first = finishExecution(project, execution, postponed);
  const reached = postponed.filter(({ path }) => isReached(first.data, path));
  if (reached.length === 0) return first;
  if (reached.length > MAX_PENDING) {
    // The whole result has the violations of the first part again.
    execution.errors.length = found;
    await Promise.all([...later.stages.values()].map((stage) => stage.run(execution)));
    for (const stage of later.stages.values()) addFailures(execution, stage.failuresIn(execution));
    return finishExecution(later.projectWhole, execution);
  }
  const { data = null, errors = [] } = first;
  const isLater = (error: GraphQLError) => !isErrorOf(data, error, 0);
  const held = new LaterErrors(errors.filter(isLater));
  const rest = new LaterParts(execution, later.stages, {
    postponed: reached,
    errors: held,
    stop: () => abort.abort(new Error("the parts of the result are no longer read")),
  });
  // With those of places that no part delivers.
  const now = [...errors.filter((error) => !isLater(error)), ...held.take([], () => false)];
  return { first: now.length > 0 ? { data, errors: now } : { data }, pending: rest.pending, rest };
}

/** Opens the stream of a subscription, which is resumed for `resumeMs` if it loses its source. */
export function runSubscription<C>(
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

/** A request of several fragments failed once. */
function addFailures<C>(
  { errors, nulled }: Execution<C>,
  failures: ReturnType<LaterStage<C>["failuresIn"]>,
): void {
  for (const error of failures.errors) if (!errors.includes(error)) errors.push(error);
  nulled.push(...failures.nulled);
}

function startExecution<C>(
  project: Project,
  { context, signal, variables, reportViolations }: LiftedRequest<C>,
): Execution<C> {
  const data: JsonObject = {};
  const isBroken = () => project(data, { variables, path: [], violations: [], isPartial: true }) === null;
  return { context, signal, variables, data, errors: [], nulled: [], isBroken, reportViolations };
}

function finishExecution<C>(
  project: Project,
  execution: Execution<C>,
  postponed?: Postponed[],
): ExecutionResult {
  const { variables, errors } = execution;
  const run = { variables, path: [], violations: [], ...(postponed && { postponed }) };
  const data = project(execution.data, run);
  if (run.violations.length > 0) {
    const { reportViolations } = execution;
    errors.push(
      ...explain(run.violations, { explanations: [new Explanations(execution)], reportViolations }),
    );
  }
  return errors.length > 0 ? { data, errors } : { data };
}

/** Answers `__schema` and `__type` from the schema; their part of the result needs no projection. */
function addIntrospection<C>(
  introspect: Introspect,
  document: DocumentNode,
  { variables, signal }: LiftedRequest<C>,
  execution: Execution<C>,
): Promise<void> | undefined {
  const add = ({ data, errors = [] }: ExecutionResult) => {
    for (const key in data) execution.data[introspectionKey(key)] = data[key];
    execution.errors.push(...errors);
  };
  const result = introspect(document, variables, signal);
  if (isPromise(result)) return result.then(add);
  add(result);
  return undefined;
}
