import { ApolloServer, type ApolloServerPlugin, type BaseContext, HeaderMap } from "@apollo/server";
import { ApolloServerPluginLandingPageDisabled } from "@apollo/server/plugin/disabled";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { DocumentNode, ExecutionResult, GraphQLError, OperationDefinitionNode } from "graphql";
import { AppError } from "../../src/kernel/errors.ts";
import type { Logger } from "../../src/kernel/log.ts";
import { failureHeaders } from "../../src/rest/errors/error-body.ts";
import { toGraphFailure } from "../../subgraphs/shared/failures.ts";
import type { Graph, GraphContext } from "../federation/graph.ts";
import type { Admitted, OperationPayload, Policy } from "../federation/policy/policy.ts";
import { refuseSubscription, showError } from "../federation/policy/refusals.ts";
import type { RequestAbort } from "../http/request-abort.ts";
import type { CacheHints } from "./cache-hints.ts";
import { refusalHeaders } from "./graph-errors.ts";
import type { OperationAccount } from "./operation-account.ts";
import type { PersistedQueries } from "./persisted-queries.ts";

/** The context of an operation in Apollo Server. */
export type RequestContext = BaseContext & {
  readonly account: OperationAccount;
  readonly replayKey: GraphContext["replayKey"];
  readonly memory: GraphContext["memory"];
  readonly abort: RequestAbort;
};

/** The longest an operation may take, counted from the end of parsing. */
type Deadlines = { readonly queryMs: number; readonly mutationMs: number };

type Apollo = {
  readonly graph: Graph;
  readonly policy: Policy;
  readonly hints: CacheHints;
  readonly introspection: boolean;
  readonly deadlines: Deadlines;
  readonly persisted: PersistedQueries;
  readonly log: Logger;
};

/**
 * Apollo Server over our engine. Media types, CSRF protection, persisted queries and error shapes are Apollo's; the
 * policy shared by all transports decides which operations are allowed, and the engine plans and runs them.
 */
export function createApollo({
  graph,
  policy,
  hints,
  introspection,
  deadlines,
  persisted,
  log,
}: Apollo): ApolloServer<RequestContext> {
  const admitted = new WeakMap<object, Admitted>();
  return new ApolloServer<RequestContext>({
    gateway: asGateway(graph, deadlines, (context) => admitted.get(context)),
    introspection,
    csrfPrevention: true,
    allowBatchedHttpRequests: false,
    includeStacktraceInErrorResponses: false,
    formatError: showError,
    stopOnTerminationSignals: false,
    persistedQueries: policy.trusted.only ? false : { cache: persisted },
    // The policy validates: with limits, cheapest checks first, and the same on every transport.
    dangerouslyDisableValidation: true,
    parseOptions: { maxTokens: policy.limits.tokens, noLocation: true },
    plugins: [
      // Apollo's page would load scripts of another host into the origin of the session cookie.
      ApolloServerPluginLandingPageDisabled(),
      guardedBy(policy, admitted),
      hinted(hints, admitted),
    ],
    logger: {
      debug() {},
      info() {},
      warn: (text) => log.warn(text),
      error: (text) => log.error(text),
    },
  });
}

/**
 * Answers a request that Fastify parsed. The id of a trusted document is replaced by its text. `isForged` means that a
 * page of another site may have caused it, by our rules, which allow more than Apollo Server's.
 */
export async function answerByApollo(
  apollo: ApolloServer<RequestContext>,
  policy: Policy,
  {
    request,
    reply,
    isForged,
  }: { readonly request: FastifyRequest; readonly reply: FastifyReply; readonly isForged: boolean },
  context: RequestContext,
): Promise<FastifyReply> {
  const headers = new HeaderMap();
  for (const [name, value] of Object.entries(request.headers))
    if (value !== undefined) headers.set(name, Array.isArray(value) ? value.join(", ") : value);
  if (!isForged && request.method !== "POST") headers.set("apollo-require-preflight", "true");
  const search = new URL(request.url, "http://gateway").search;
  // Fastify sends the response without a body.
  const method = request.method === "HEAD" ? "GET" : request.method;
  const answer = await apollo.executeHTTPGraphQLRequest({
    httpGraphQLRequest: {
      method,
      headers,
      search: method === "GET" ? withTrustedSearch(policy, search) : search,
      body: withTrustedBody(policy, request.body),
    },
    context: async () => context,
  });
  for (const [name, value] of answer.headers) reply.header(name, value);
  if (answer.body.kind !== "complete") throw new Error("the engine delivers results whole");
  const status = answer.status ?? 200;
  // Requests that Apollo refused, and failures before execution.
  if (status >= 400 && !answer.headers.has("x-should-retry"))
    reply.headers({ "cache-control": "no-store", ...refusalHeaders(codeOf(answer.body.string)) });
  return reply.code(status).send(answer.body.string);
}

/** The code of the first error in an error response; undefined where Apollo answers with plain text. */
function codeOf(text: string): unknown {
  try {
    const { errors } = JSON.parse(text) as {
      readonly errors?: readonly { extensions?: { code?: unknown } }[];
    };
    return errors?.[0]?.extensions?.code;
  } catch {
    return undefined;
  }
}

function withTrustedBody(policy: Policy, body: unknown): unknown {
  if (typeof body !== "object" || body === null || Array.isArray(body)) return body;
  const payload = body as OperationPayload;
  const text = payload.query ? undefined : policy.trustedText(payload);
  if (text === undefined) return body;
  const { persistedQuery: _, ...extensions } = payload.extensions ?? {};
  return { ...payload, query: text, extensions };
}

function withTrustedSearch(policy: Policy, search: string): string {
  const given = new URLSearchParams(search);
  const payload = {
    documentId: given.get("documentId"),
    extensions: readExtensions(given.get("extensions")),
  };
  const text = given.get("query") ? undefined : policy.trustedText(payload);
  if (text === undefined) return search;
  given.set("query", text);
  given.delete("extensions");
  return `?${given}`;
}

/** The extensions in the query string of a GET; empty if they cannot be parsed, which Apollo Server refuses. */
export function readExtensions(text: string | null): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(text ?? "{}"));
  } catch {
    return {};
  }
}

type Refusal = { readonly errors: readonly GraphQLError[]; readonly failure?: AppError };

/** Applies the policy between parsing and execution. */
function guardedBy(policy: Policy, admitted: WeakMap<object, Admitted>): ApolloServerPlugin<RequestContext> {
  const refused = new WeakMap<object, Refusal>();
  return {
    async requestDidStart() {
      return {
        async didResolveOperation({ operation, metrics, request, source, contextValue }) {
          const { operationName, variables } = request;
          const verdict = policy.admit({ query: source, operationName, variables });
          const refusal = await refusalOf(verdict, operation, contextValue.account);
          if ("document" in verdict && !refusal) {
            admitted.set(contextValue, verdict);
            return;
          }
          // A refused document is not registered as a persisted query either.
          metrics.persistedQueryRegister = false;
          refused.set(contextValue, refusal ?? { errors: [] });
        },
        async responseForOperation({ contextValue }) {
          const refusal = refused.get(contextValue);
          if (!refusal) return null;
          const { errors, failure } = refusal;
          const headers = failure ? failureHeaders(failure) : refusalHeaders(undefined);
          return {
            http: { status: failure?.status ?? 400, headers: new HeaderMap(Object.entries(headers)) },
            body: {
              kind: "single",
              singleResult: { errors: errors.map((error) => showError(error.toJSON())) },
            },
          };
        },
      };
    },
  };
}

/** The reason why an operation is refused: the policy, its kind, or the rate limit. Undefined if it is allowed. */
async function refusalOf(
  verdict: ReturnType<Policy["admit"]>,
  operation: OperationDefinitionNode | undefined,
  account: OperationAccount,
): Promise<Refusal | undefined> {
  if (!("document" in verdict)) return { errors: verdict };
  const streamed = refuseSubscription(operation);
  if (streamed) return { errors: [streamed] };
  try {
    await account.takeOperation(verdict.requests);
    return undefined;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { errors: [toGraphFailure(error)], failure: error };
  }
}

/** Sets `Cache-Control`: the lifetime of a response without errors, `no-store` for any other. */
function hinted(hints: CacheHints, admitted: WeakMap<object, Admitted>): ApolloServerPlugin<RequestContext> {
  return {
    async requestDidStart() {
      return {
        async willSendResponse({ response, contextValue }) {
          const operation = admitted.get(contextValue);
          const { body } = response;
          const isWhole = body.kind === "single" && !body.singleResult.errors;
          if (operation && body.kind === "single") contextValue.account.noteResult(body.singleResult);
          const control =
            operation && isWhole ? hints.of(operation, contextValue.account.principal) : "no-store";
          response.http.headers.set("cache-control", control);
          response.http.headers.set("vary", "authorization, accept");
        },
      };
    },
  };
}

type Gateway = NonNullable<ConstructorParameters<typeof ApolloServer>[0]["gateway"]>;

/** Our engine behind the gateway interface of Apollo Server. */
function asGateway(
  { engine, apiSchema, supergraphSdl }: Graph,
  deadlines: Deadlines,
  admittedOf: (context: object) => Admitted | undefined,
): Gateway {
  return {
    onSchemaLoadOrUpdate(loaded) {
      loaded({ apiSchema, coreSupergraphSdl: supergraphSdl });
      return () => {};
    },
    async load() {
      return {
        executor: async ({ document, operationName, operation, context }) => {
          const { abort, account, replayKey, memory } = context as RequestContext;
          const admitted = admittedOf(context);
          abort.within(operation?.operation === "mutation" ? deadlines.mutationMs : deadlines.queryMs);
          const result = await engine.execute({
            // The policy caches one document object per text, so the engine finds its plan at once.
            document: admitted?.document ?? (document as DocumentNode),
            operationName,
            variables: admitted?.variables ?? {},
            context: { principal: account.principal, replayKey, memory },
            signal: abort.signal,
          });
          return result as ExecutionResult<Record<string, never>, Record<string, never>>;
        },
      };
    },
    async stop() {},
  };
}
