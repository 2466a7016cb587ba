import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { App } from "../app.ts";
import { AppError } from "../kernel/errors.ts";
import { isRequestId, newRequestId } from "../kernel/ids.ts";
import type { Visit } from "../keys/door.service.ts";
import { hopOf } from "../keys/source-address.ts";
import type { Answer } from "./answer.ts";
import { toErrorAnswer } from "./error-body.ts";
import { eventSink } from "./event-sink.ts";
import { toOpenApi } from "./openapi.ts";
import { quotaHeaders } from "./quota-headers.ts";
import type { Route } from "./route.ts";
import { getUsageByDay, getUsageHistory, getUsageStats } from "./v1/account/usage.ts";
import { getAccount, getBalance, getFunds } from "./v1/account.ts";
import { createApiKey, listApiKeys, revokeApiKey, updateApiKey } from "./v1/api-keys.ts";
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
import { previewRouting } from "./v1/routing/preview.ts";

/** Every REST endpoint there is. The server, the permission tests and OpenAPI walk this list. */
export const routes: readonly Route[] = [
  chatCompletions,
  previewRouting,
  listModels,
  listProviders,
  getNonce,
  signIn,
  signOut,
  getMe,
  listApiKeys,
  createApiKey,
  updateApiKey,
  revokeApiKey,
  listManagementKeys,
  createManagementKey,
  updateManagementKey,
  revokeManagementKey,
  getAccount,
  getBalance,
  getFunds,
  getUsageStats,
  getUsageByDay,
  getUsageHistory,
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
  let described: object | undefined;
  server.get("/openapi.json", async () => {
    described ??= toOpenApi(routes);
    return described;
  });
}

/** The answer to a path of no route, in the same shape as any failure. */
export function notFound(app: App, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  return fail(app, new AppError("not_found", "There is no such path."), request, reply);
}

/** The answer to a path that cannot be decoded, in the same shape as any failure. */
export function badPath(app: App, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  return fail(app, new AppError("invalid_parameter", "The path is not well-formed."), request, reply);
}

async function handle(
  app: App,
  route: Route,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const { own, shown } = requestIdsOf(request);
  const idempotencyKey = idempotencyKeyOf(request);
  const visit = {
    authorization: authorizationOf(request, route),
    hop: hopOf(request.raw),
    // An answer that is repeated goes through no admission.
    isAdmitted: route.isAdmitted && idempotencyKey === undefined,
  };
  const principal = await app.door.enter(visit, (quota) => reply.headers(quotaHeaders(quota)));
  const run = route.run(app, {
    principal,
    params: request.params as Record<string, string>,
    query: request.query,
    body: Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0),
    rawHeaders: request.raw.rawHeaders,
    requestId: own,
    idempotencyKey,
    signal: leavingOf(reply),
  });
  const answer = await (visit.isAdmitted ? confirmed(app, visit, run) : run);
  const sent = await send(app, answer, shown, reply);
  if (reply.statusCode < 400) app.keyUse.record(principal, visit.hop);
  return sent;
}

/** A key that was remembered and failed before its admission may be dead: then that is what its holder is told. */
async function confirmed(app: App, { authorization }: Visit, answer: Promise<Answer>): Promise<Answer> {
  const confirm = async (error: unknown): Promise<never> => {
    if (error instanceof AppError && error.status < 500 && error.status !== 401)
      await app.authenticate(authorization);
    throw error;
  };
  const known = await answer.catch(confirm);
  if (known.kind !== "stream") return known;
  return { kind: "stream", run: (sink) => known.run(sink).catch(confirm) };
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
      .code(answer.status ?? 200)
      .headers({ ...headers, "content-type": "application/json; charset=utf-8", ...answer.headers })
      .send(answer.bytes);
  reply.hijack();
  try {
    await answer.run(eventSink(reply.raw, { ...headersOf(reply), ...headers }));
  } catch (error) {
    if (reply.raw.headersSent) {
      app.log.error({ err: error, requestId }, "a stream could not be ended");
      reply.raw.destroy();
    } else {
      const { status, headers: more, body } = toErrorAnswer(error, requestId);
      logUnexpected(app, body.error.code, error, requestId);
      reply.raw.writeHead(status, {
        ...headersOf(reply),
        ...headers,
        ...more,
        "content-type": "application/json; charset=utf-8",
      });
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

/** What was set on a reply before it was taken over. */
function headersOf(reply: FastifyReply): Readonly<Record<string, string>> {
  return reply.getHeaders() as Record<string, string>;
}

/**
 * Node keeps the first of two Authorization headers and drops the second; two are refused instead. What is open to
 * everyone is open also to those whose key is of no use, as official clients always send one.
 */
function authorizationOf(request: FastifyRequest, { access }: Route): string | undefined {
  if (access === "public") return undefined;
  const { rawHeaders } = request.raw;
  let seen = 0;
  for (let at = 0; at < rawHeaders.length; at += 2)
    if (rawHeaders[at]?.length === 13 && rawHeaders[at]?.toLowerCase() === "authorization") seen++;
  if (seen > 1) throw new AppError("invalid_api_key", "Send one Authorization header.");
  return request.headers.authorization;
}

function idempotencyKeyOf({ headers }: FastifyRequest): string | undefined {
  const key = headers["idempotency-key"];
  return Array.isArray(key) ? key.join(", ") : key;
}

function leavingOf(reply: FastifyReply): AbortSignal {
  const leaving = new AbortController();
  reply.raw.once("close", () => {
    if (!reply.raw.writableEnded) leaving.abort();
  });
  return leaving.signal;
}
