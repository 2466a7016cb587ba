import { ApolloServer, type ApolloServerPlugin } from "@apollo/server";
import { fastifyApolloHandler } from "@as-integrations/fastify";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { DocumentNode, ExecutionResult } from "graphql";
import type { App } from "../src/app.ts";
import { ANONYMOUS, type Principal } from "../src/keys/principal.ts";
import { hopOf } from "../src/keys/source-address.ts";
import { toAppError } from "../src/rest/error-body.ts";
import { quotaHeaders } from "../src/rest/quota-headers.ts";
import type { Graph, GraphContext } from "./graph.ts";
import { LIMITS, refuseSubscription, showError } from "./policy.ts";

/**
 * Answers queries and mutations at /graphql by Apollo Server over our engine: media types, CSRF protection, persisted
 * queries and error shapes are Apollo's, planning and execution ours.
 */
export async function graphPlugin(
  server: FastifyInstance,
  { app, graph, introspection }: { app: App; graph: Graph; introspection: boolean },
): Promise<void> {
  const apollo = new ApolloServer<RequestContext>({
    gateway: asGateway(graph),
    introspection,
    csrfPrevention: true,
    allowBatchedHttpRequests: false,
    includeStacktraceInErrorResponses: false,
    hideSchemaDetailsFromClientErrors: !introspection,
    formatError: showError,
    stopOnTerminationSignals: false,
    parseOptions: { maxTokens: LIMITS.tokens },
    plugins: [onlyQueriesAndMutations],
    logger: {
      debug() {},
      info() {},
      warn: (text) => app.log.warn(text),
      error: (text) => app.log.error(text),
    },
  });
  await apollo.start();
  server.addHook("onClose", () => apollo.stop());
  server.setErrorHandler((error, _request, reply) => {
    const failure = toAppError(error);
    if (failure.code === "internal_error") app.log.error({ err: error }, "a graph request failed");
    if (failure.retryAfterSeconds !== undefined) reply.header("retry-after", failure.retryAfterSeconds);
    return reply
      .code(failure.status)
      .send({ errors: [{ message: failure.message, extensions: { code: failure.code } }] });
  });
  const principals = new WeakMap<FastifyRequest, Principal>();
  server.route<{ Reply: string }>({
    method: ["GET", "POST"],
    url: "/graphql",
    bodyLimit: LIMITS.bodyBytes,
    // Before Apollo's part: a wrong credential is answered with the status that REST gives it.
    preValidation: async (request, reply) => {
      const visit = { authorization: request.headers.authorization, hop: hopOf(request.raw) };
      principals.set(request, await app.door.enter(visit, (quota) => reply.headers(quotaHeaders(quota))));
    },
    onResponse: async (request, reply) => {
      const principal = principals.get(request);
      if (principal && reply.statusCode < 400) app.keyUse.record(principal, hopOf(request.raw));
    },
    handler: fastifyApolloHandler(apollo, {
      context: async (request, reply) => ({
        principal: principals.get(request) ?? ANONYMOUS,
        signal: leavingOf(reply),
      }),
    }),
  });
}

type RequestContext = { readonly principal: Principal; readonly signal: AbortSignal };

const onlyQueriesAndMutations: ApolloServerPlugin<RequestContext> = {
  async requestDidStart() {
    return { didResolveOperation: async ({ operation }) => refuseSubscription(operation) };
  },
};

type Gateway = NonNullable<ConstructorParameters<typeof ApolloServer>[0]["gateway"]>;

/** Our engine, in the interface that Apollo Server knows a gateway by. */
function asGateway({ engine, apiSchema, supergraphSdl }: Graph): Gateway {
  return {
    onSchemaLoadOrUpdate(loaded) {
      loaded({ apiSchema, coreSupergraphSdl: supergraphSdl });
      return () => {};
    },
    async load() {
      return {
        executor: async ({ document, operationName, request, context }) =>
          (await engine.execute({
            document: document as DocumentNode,
            operationName,
            variables: request.variables,
            context: context as GraphContext,
            signal: (context as RequestContext).signal,
          })) as ExecutionResult<Record<string, never>, Record<string, never>>,
      };
    },
    async stop() {},
  };
}

function leavingOf(reply: FastifyReply): AbortSignal {
  const leaving = new AbortController();
  reply.raw.once("close", () => {
    if (!reply.raw.writableEnded) leaving.abort();
  });
  return leaving.signal;
}
