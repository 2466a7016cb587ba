import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { App } from "../app.ts";
import { AppError } from "../kernel/errors.ts";
import { isRequestId, newRequestId } from "../kernel/ids.ts";
import { ANONYMOUS } from "../keys/principal.ts";
import { hopOf } from "../keys/source-address.ts";
import { toErrorAnswer } from "./error-body.ts";
import { eventSink } from "./event-sink.ts";
import type { Answer, Route } from "./route.ts";
import { getMe, getNonce, signIn, signOut } from "./v1/auth.ts";
import { chatCompletions } from "./v1/chat/completions.ts";
import {
  createManagementKey,
  listManagementKeys,
  revokeManagementKey,
  updateManagementKey,
} from "./v1/management-keys.ts";
import { listModels } from "./v1/models.ts";
import { listProviders } from "./v1/providers.ts";

/** Every REST endpoint there is. The server, the permission tests and OpenAPI walk this list. */
export const routes: readonly Route[] = [
  chatCompletions,
  listModels,
  listProviders,
  getNonce,
  signIn,
  signOut,
  getMe,
  listManagementKeys,
  createManagementKey,
  updateManagementKey,
  revokeManagementKey,
];

/** Mounts the REST face. Every answer carries `X-Request-ID`, every failure the one error shape. */
export async function restPlugin(server: FastifyInstance, { app }: { app: App }): Promise<void> {
  server.removeAllContentTypeParsers();
  server.addContentTypeParser("application/json", { parseAs: "buffer" }, (_request, body, done) =>
    done(null, body),
  );
  server.setErrorHandler((error, request, reply) => fail(app, error, request, reply));
  for (const route of routes)
    server.route({
      method: route.method,
      url: route.url,
      bodyLimit: route.bodyLimitBytes,
      handler: (request, reply) => handle(app, route, request, reply),
    });
}

/** The answer to a path of no route, in the same shape as any failure. */
export function notFound(app: App, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  return fail(app, new AppError("not_found", "There is no such path."), request, reply);
}

async function handle(
  app: App,
  route: Route,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const { own, shown } = requestIdsOf(request);
  // What is open to everyone is open also to those whose key is of no use, as official clients always send one.
  const principal = route.access === "public" ? ANONYMOUS : await app.authenticate(authorizationOf(request));
  const answer = await route.run(app, {
    principal,
    params: request.params as Record<string, string>,
    query: request.query,
    body: Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0),
    requestId: own,
    signal: leavingOf(reply),
  });
  const sent = await send(app, answer, shown, reply);
  if (reply.statusCode < 400) app.keyUse.record(principal, hopOf(request.raw));
  return sent;
}

async function send(app: App, answer: Answer, requestId: string, reply: FastifyReply): Promise<unknown> {
  const headers = { "x-request-id": requestId, "cache-control": "no-store" };
  if (answer.kind === "json")
    return reply
      .code(answer.status ?? 200)
      .headers(headers)
      .send(answer.value);
  if (answer.kind === "bytes")
    return reply
      .headers({ ...headers, "content-type": "application/json; charset=utf-8", ...answer.headers })
      .send(answer.bytes);
  reply.hijack();
  try {
    await answer.run(eventSink(reply.raw, headers));
  } catch (error) {
    if (reply.raw.headersSent) {
      app.log.error({ err: error, requestId }, "a stream could not be ended");
      reply.raw.destroy();
    } else {
      const { status, headers: more, body } = toErrorAnswer(error, requestId);
      logUnexpected(app, body.error.code, error, requestId);
      reply.raw.writeHead(status, { ...headers, ...more, "content-type": "application/json; charset=utf-8" });
      reply.raw.end(JSON.stringify(body));
    }
  }
  return undefined;
}

function fail(app: App, error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { shown: requestId } = requestIdsOf(request);
  const { status, headers, body } = toErrorAnswer(error, requestId);
  logUnexpected(app, body.error.code, error, requestId);
  return reply
    .code(status)
    .headers({ "x-request-id": requestId, "cache-control": "no-store", ...headers })
    .send(body);
}

function logUnexpected(app: App, code: string, error: unknown, requestId: string): void {
  if (code === "internal_error" || code === "unavailable")
    app.log.error({ err: error, requestId }, "a request failed");
}

type RequestIds = { readonly own: string; readonly shown: string };

const ids = new WeakMap<FastifyRequest, RequestIds>();

/** `own` is unique and names the request in the books; `shown` is the client's `X-Request-ID` where that may stand. */
function requestIdsOf(request: FastifyRequest): RequestIds {
  const known = ids.get(request);
  if (known) return known;
  const own = newRequestId();
  const asked = request.headers["x-request-id"];
  const made = { own, shown: typeof asked === "string" && isRequestId(asked) ? asked : own };
  ids.set(request, made);
  return made;
}

/** Node keeps the first of two Authorization headers and drops the second; two are refused instead. */
function authorizationOf(request: FastifyRequest): string | undefined {
  const { rawHeaders } = request.raw;
  let seen = 0;
  for (let at = 0; at < rawHeaders.length; at += 2)
    if (rawHeaders[at]?.length === 13 && rawHeaders[at]?.toLowerCase() === "authorization") seen++;
  if (seen > 1) throw new AppError("invalid_api_key", "Send one Authorization header.");
  return request.headers.authorization;
}

function leavingOf(reply: FastifyReply): AbortSignal {
  const leaving = new AbortController();
  reply.raw.once("close", () => {
    if (!reply.raw.writableEnded) leaving.abort();
  });
  return leaving.signal;
}
