import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { GraphQLError } from "graphql";
import type { App } from "../../src/app.ts";
import { ReplayKey } from "../../src/idempotency/replay-key.ts";
import { AppError } from "../../src/kernel/errors.ts";
import { Slot } from "../../src/kernel/slot.ts";
import { ANONYMOUS } from "../../src/keys/auth/principal.ts";
import type { Quota } from "../../src/keys/auth/rate-limit.ts";
import { hopOf } from "../../src/keys/auth/source-address.ts";
import { authorizationHeaderOf } from "../../src/rest/http/headers.ts";
import { quotaHeaders } from "../../src/rest/http/quota-headers.ts";
import { deadlinesOf, type Graph } from "../federation/graph.ts";
import { refusePersistedQuery } from "../federation/policy/persisted-query.ts";
import type { Policy } from "../federation/policy/policy.ts";
import { showError } from "../federation/policy/refusals.ts";
import { refuseText } from "../federation/policy/text-limits.ts";
import { mayBeForged } from "../http/forgery.ts";
import { readJsonBodies } from "../http/json-body.ts";
import { RequestAbort } from "../http/request-abort.ts";
import { acquireStreamSlot } from "../subscriptions/stream-slot.ts";
import { streamParts } from "../subscriptions/streams.incremental.ts";
import { streamMultipart, wantsMultipart } from "../subscriptions/streams.multipart.ts";
import { isEventStream, streamEvents, takesOnlyEvents } from "../subscriptions/streams.sse.ts";
import type { Streams } from "../subscriptions/streams.ts";
import { answerByApollo, createApollo, readExtensions } from "./apollo.ts";
import { createCacheHints } from "./cache-hints.ts";
import { executeFastPath, type FastPathAnswer } from "./fast-path.ts";
import { answerFailures, sendErrors } from "./graph-errors.ts";
import { IntrospectionAnswers } from "./introspection-answers.ts";
import { OperationAccount } from "./operation-account.ts";
import type { PersistedQueries } from "./persisted-queries.ts";
import { type ReadRequest, readRequest } from "./read-request.ts";

type Options = {
  readonly app: App;
  readonly graph: Graph;
  readonly policy: Policy;
  readonly persisted: PersistedQueries;
  readonly streams: Streams;
  readonly introspection: boolean;
};

/**
 * Answers /graphql over HTTP: queries and mutations through Apollo Server, subscriptions in the format the client
 * accepts, multipart (Apollo Client) or server-sent events (urql).
 */
export async function graphPlugin(server: FastifyInstance, options: Options): Promise<void> {
  const { app, graph, policy, persisted, streams, introspection } = options;
  const hints = createCacheHints(graph.supergraph, graph.apiSchema, graph.guardOf);
  const deadlines = deadlinesOf(app.config);
  const apollo = createApollo({ graph, policy, hints, introspection, deadlines, persisted, log: app.log });
  const answers = new IntrospectionAnswers();
  const plain = { graph, policy, hints, deadlines, introspection: answers, persisted };
  await apollo.start();
  server.addHook("onClose", () => apollo.stop());
  answerFailures(server, app);
  readJsonBodies(server, policy.limits.jsonDepth);
  const accounts = new Slot<FastifyRequest, OperationAccount>();
  server.route({
    method: ["GET", "POST"],
    url: "/graphql",
    bodyLimit: policy.limits.bodyBytes,
    // Before the body is read: an invalid credential gets the same status as on REST.
    onRequest: async (request, reply) => {
      const hop = hopOf(request.raw);
      const setQuotaHeaders = (quota: Quota) => void reply.headers(quotaHeaders(quota));
      const principal = await app.requestAuthenticator.authenticate(
        { authorization: authorizationHeaderOf(request.raw), hop },
        setQuotaHeaders,
      );
      app.load.requests.identified(request.raw, principal);
      accounts.set(request, new OperationAccount(app, principal, hop, setQuotaHeaders));
      refuseFormUpload(request);
    },
    async handler(request, reply) {
      const account = accounts.get(request) ?? new OperationAccount(app, ANONYMOUS, hopOf(request.raw));
      if (wantsMultipart(request) && (await streamMultipart(streams, { request, reply, account })))
        return reply;
      const replayKey = () => ReplayKey.ofAuthorization(request.headers.authorization);
      if (isEventStream(streams, request))
        return streamEvents(streams, { request, reply, account, replayKey });
      const abort = new RequestAbort(reply.raw);
      const memory = app.load.requests.answerOf(request.raw, reply.raw);
      const isForged = request.method !== "POST" && mayBeForged(request, reply);
      const read = isForged ? undefined : readRequest(request);
      const answer =
        read &&
        (await executeFastPath(plain, request, {
          ...{ read, account, replayKey, memory, abort },
          acquireSlot: () => acquireStreamSlot(streams, account.principal, hopOf(request.raw)),
        }));
      if (answer && "results" in answer) return streamParts(streams, reply, answer.type, answer);
      if (answer) return sendPlain(reply, answer);
      if (!isForged && takesOnlyEvents(request))
        return streamEvents(streams, { request, reply, account, replayKey });
      reply.header("cache-control", "no-store");
      const refusal = refuseText(textOf(request), policy.limits) ?? refuseName(policy, request);
      const refused = refusal
        ? [refusal]
        : refuseDocument(policy, { text: textOf(request), read, persisted });
      if (refused)
        return sendErrors(
          reply,
          400,
          refused.map((error) => showError(error.toJSON())),
        );
      const call = { request, reply, isForged };
      return answerByApollo(apollo, policy, call, { account, replayKey, memory, abort });
    },
  });
}

/** Throws `unsupported_media_type` for a form, as clients with an upload link send files (GraphQL multipart requests). */
function refuseFormUpload({ method, headers }: FastifyRequest): void {
  const type = headers["content-type"]?.split(";", 1)[0]?.trim().toLowerCase();
  if (method !== "POST" || type !== "multipart/form-data") return;
  throw new AppError(
    "unsupported_media_type",
    "Multipart uploads are not supported. Send the operation as application/json, and files in base64 in its input, such as `fileBase64`.",
    { param: "Content-Type" },
  );
}

/** The document of a request; empty if there is none. */
function textOf({ method, body, query }: FastifyRequest): string {
  const { query: text } = Object(method === "POST" ? body : query) as { readonly query?: unknown };
  return typeof text === "string" ? text : "";
}

type SentDocument = {
  readonly text: string;
  readonly read: ReadRequest | undefined;
  readonly persisted: PersistedQueries;
};

/**
 * The errors of a document that Apollo would report differently: a document with too many tokens, because Apollo parses
 * before it calls the policy, and any document of a client that accepts only parts, because Apollo would refuse the
 * `Accept` header instead.
 */
function refuseDocument(
  policy: Policy,
  { text, read, persisted }: SentDocument,
): readonly GraphQLError[] | undefined {
  const query = read ? persisted.textOf(read.payload, policy) : text;
  const admitted = query ? policy.admit({ ...read?.payload, query }) : undefined;
  if (!admitted || "document" in admitted) return undefined;
  const isLong = admitted.some(({ extensions }) => extensions.limit === "tokens");
  return isLong || (read && !read.mediaType) ? admitted : undefined;
}

/**
 * The error in the name of the document that a request names by an id or a hash, also if it is unknown. A trusted document
 * needs only its id.
 */
function refuseName(policy: Policy, { method, body, query }: FastifyRequest): GraphQLError | undefined {
  const payload =
    method === "POST"
      ? Object(body)
      : { ...Object(query), extensions: readExtensions(Object(query).extensions ?? null) };
  if (!payload.query && policy.trustedText(payload) !== undefined) return undefined;
  return refusePersistedQuery(payload) ?? policy.refuseUnknown(payload);
}

function sendPlain(reply: FastifyReply, { text, mediaType, cacheControl }: FastPathAnswer): FastifyReply {
  return reply
    .header("cache-control", cacheControl)
    .header("vary", "authorization, accept")
    .header("content-type", `${mediaType}; charset=utf-8`)
    .send(text);
}
