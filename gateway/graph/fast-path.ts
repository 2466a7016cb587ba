import type { FastifyRequest } from "fastify";
import type { ExecutionResult } from "graphql";
import type { deadlinesOf, Graph, GraphContext } from "../federation/graph.ts";
import type { Admitted, OperationPayload, Policy } from "../federation/policy/policy.ts";
import { graphTypeFor } from "../http/media-types.ts";
import type { RequestAbort } from "../http/request-abort.ts";
import { showResult } from "../subscriptions/results.ts";
import type { CacheHints } from "./cache-hints.ts";
import type { IntrospectionAnswers } from "./introspection-answers.ts";
import type { OperationAccount } from "./operation-account.ts";

/** The dependencies of the fast path. */
type Plain = {
  readonly graph: Graph;
  readonly policy: Policy;
  readonly hints: CacheHints;
  readonly deadlines: ReturnType<typeof deadlinesOf>;
  readonly introspection: IntrospectionAnswers;
};

/** A response body, its media type and its `Cache-Control`. */
export type FastPathAnswer = {
  readonly text: string | Buffer;
  readonly mediaType: string;
  readonly cacheControl: string;
};

const MEMBERS: ReadonlySet<string> = new Set(["query", "variables", "operationName", "extensions"]);
const JSON_CONTENT = /^application\/json(?: *; *charset=utf-8)?$/i;

/**
 * Answers the request that nearly all clients send: a JSON POST that contains a query and accepts either media type of
 * GraphQL responses, for an operation that is allowed. Apollo Server would give byte for byte the same response at
 * twice the cost of our own path; requests that need full negotiation, a lookup or a refusal are left to it. Returns
 * undefined for those, before any subgraph request is sent. Throws `rate_limit_exceeded`.
 */
export async function executeFastPath(
  { graph, policy, hints, deadlines, introspection }: Plain,
  request: FastifyRequest,
  {
    account,
    replayKey,
    memory,
    abort,
  }: Pick<GraphContext, "replayKey" | "memory"> & {
    readonly account: OperationAccount;
    readonly abort: RequestAbort;
  },
): Promise<FastPathAnswer | undefined> {
  const read = readPlain(request);
  if (!read) return undefined;
  const { payload, mediaType } = read;
  const admitted = policy.admit(payload);
  if (!("document" in admitted) || admitted.operation.operation === "subscription") return undefined;
  const { principal } = account;
  const { variables, requests } = admitted;
  const known = introspection.find(payload, admitted);
  if (known) return { text: known, mediaType, cacheControl: hints.of(admitted, principal) };
  // The HTTP request itself is already counted.
  await account.take(requests - 1);
  const { operationName } = payload;
  abort.within(admitted.operation.operation === "mutation" ? deadlines.mutationMs : deadlines.queryMs);
  const result = await graph.engine.execute({
    ...{ document: admitted.document, operationName, variables },
    ...{ context: { principal, replayKey, memory }, signal: abort.signal },
  });
  // The engine refused the operation before any subgraph request: Apollo negotiates the status.
  if (result.data === undefined) return undefined;
  account.noteResult(result);
  const text = result.errors ? toText(result) : introspection.keep(payload, admitted, toText(result));
  return { text, mediaType, cacheControl: cacheControlOf(hints, admitted, result, principal) };
}

/** The operation in such a request, and the media type of its answer. */
export function readPlain({
  method,
  headers,
  body,
}: Pick<FastifyRequest, "method" | "headers" | "body">):
  | { readonly payload: OperationPayload; readonly mediaType: string }
  | undefined {
  const mediaType = graphTypeFor(headers.accept);
  if (!mediaType || method !== "POST" || !JSON_CONTENT.test(headers["content-type"] ?? "")) return undefined;
  if (typeof body !== "object" || body === null || Array.isArray(body)) return undefined;
  for (const member in body) if (!MEMBERS.has(member)) return undefined;
  const { query, variables, operationName, extensions } = body as Readonly<Record<string, unknown>>;
  if (typeof query !== "string" || query === "") return undefined;
  if (!isAbsent(operationName) && (typeof operationName !== "string" || operationName === ""))
    return undefined;
  if (!isAbsent(variables) && (typeof variables !== "object" || Array.isArray(variables))) return undefined;
  if (!isAbsent(extensions) && !isInformative(extensions)) return undefined;
  return { payload: body as OperationPayload, mediaType };
}

/** Extensions that change nothing, such as the name of the client that Apollo Client sends. */
function isInformative(extensions: unknown): boolean {
  return (
    typeof extensions === "object" &&
    !Array.isArray(extensions) &&
    !Object.hasOwn(Object(extensions), "persistedQuery")
  );
}

function isAbsent(value: unknown): value is null | undefined {
  return value === undefined || value === null;
}

/** With the members in Apollo's order, and its trailing newline. */
function toText(result: ExecutionResult): string {
  const { errors, data } = showResult(result);
  return `${JSON.stringify({ errors, data })}\n`;
}

function cacheControlOf(
  hints: CacheHints,
  admitted: Admitted,
  { errors }: ExecutionResult,
  principal: GraphContext["principal"],
): string {
  return errors ? "no-store" : hints.of(admitted, principal);
}
