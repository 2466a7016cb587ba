import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { App } from "../app.ts";
import { AppError } from "../kernel/errors.ts";
import { isRequestId, newRequestId } from "../kernel/ids.ts";
import type { Visit } from "../keys/door.service.ts";
import { authorize, type Principal } from "../keys/principal.ts";
import { hopOf } from "../keys/source-address.ts";
import type { Answer } from "./answer.ts";
import { toAnthropicError } from "./anthropic-error.ts";
import { openToPages, servePreflights } from "./cors.ts";
import { toEnvelopeFailure } from "./envelope.ts";
import { toAppError, toErrorAnswer } from "./error-body.ts";
import { eventSink } from "./event-sink.ts";
import { getFolder, getFolderEntry } from "./file/entry.ts";
import { getFileInfo } from "./file/info.ts";
import { uploadSegment } from "./file/segment.ts";
import { getFile } from "./file.ts";
import { listFileInfos } from "./files/info.ts";
import { getNodeStatus } from "./node/status.ts";
import { toOpenApi } from "./openapi.ts";
import { quotaHeaders } from "./quota-headers.ts";
import type { Route } from "./route.ts";
import { toRpcFailure } from "./rpc/rpc-error.ts";
import { callRpc } from "./rpc.ts";
import { sendFile } from "./send-file.ts";
import { getUsageByDay, getUsageHistory, getUsageStats } from "./v1/account/usage.ts";
import { getAccount, getBalance, getFunds } from "./v1/account.ts";
import { createApiKey, listApiKeys, revokeApiKey, updateApiKey } from "./v1/api-keys.ts";
import { submitImageEdit } from "./v1/async/images/edits.ts";
import { submitImages } from "./v1/async/images/generations.ts";
import { cancelAsyncJob, getAsyncJob } from "./v1/async/jobs.ts";
import { createTranscription } from "./v1/audio/transcriptions.ts";
import { getMe, getNonce, signIn, signOut } from "./v1/auth.ts";
import { chatCompletions } from "./v1/chat/completions.ts";
import { editImages } from "./v1/images/edits.ts";
import { generateImages } from "./v1/images/generations.ts";
import {
  createManagementKey,
  listManagementKeys,
  revokeManagementKey,
  updateManagementKey,
} from "./v1/management-keys.ts";
import { countMessageTokens, createMessage } from "./v1/messages.ts";
import { getModel, listModels } from "./v1/models.ts";
import { listProviders } from "./v1/providers.ts";
import { previewRouting } from "./v1/routing/preview.ts";
import { listServiceTypes } from "./v1/service-types.ts";

/** Every REST endpoint there is. The server, the permission tests and OpenAPI walk this list. */
export const routes: readonly Route[] = [
  chatCompletions,
  createMessage,
  countMessageTokens,
  generateImages,
  editImages,
  submitImages,
  submitImageEdit,
  getAsyncJob,
  cancelAsyncJob,
  createTranscription,
  previewRouting,
  listModels,
  getModel,
  listProviders,
  listServiceTypes,
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
  getFile,
  getFileInfo,
  listFileInfos,
  uploadSegment,
  getFolder,
  getFolderEntry,
  getNodeStatus,
  callRpc,
];

/** Mounts the REST face. Every answer carries `X-Request-ID`, every failure the one error shape. */
export async function restPlugin(server: FastifyInstance, { app }: { app: App }): Promise<void> {
  server.removeAllContentTypeParsers();
  for (const type of ["application/json", "multipart/form-data"])
    server.addContentTypeParser(type, { parseAs: "buffer" }, (request, body, done) =>
      done(isTaken(type, request) ? null : NOT_TAKEN, body),
    );
  server.setErrorHandler((error, request, reply) => fail(app, error, request, reply));
  for (const route of routes)
    server.route({
      method: route.method,
      url: route.url,
      bodyLimit: route.bodyLimitBytes,
      onRequest: [
        ...(route.isOpenToPages ? [openToPages] : []),
        ...(route.bodyLimitBytes > LARGE_BODY_BYTES
          ? [(request: FastifyRequest, reply: FastifyReply) => enterFirst(app, route, request, reply)]
          : []),
      ],
      handler: (request, reply) => handle(app, route, request, reply),
    });
  servePreflights(server, routes);
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

/** What may not be read before it is known who sends it. */
const LARGE_BODY_BYTES = 4 * 1_048_576;
const entered = new WeakMap<FastifyRequest, Principal>();

/** Lets a request in before its large body is read, so that nobody without a right to it is listened to. */
async function enterFirst(
  app: App,
  route: Route,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const visit = { authorization: authorizationOf(request, route), hop: hopOf(request.raw) };
  const principal = await enter(app, visit, reply);
  if (route.access !== "public") authorize(principal, route.access);
  entered.set(request, principal);
}

function enter(app: App, visit: Visit, reply: FastifyReply): Promise<Principal> {
  return app.door.enter(visit, (quota) => reply.headers(quotaHeaders(quota)));
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
  const principal = entered.get(request) ?? (await enter(app, visit, reply));
  const run = route.run(app, {
    principal,
    params: request.params as Record<string, string>,
    query: request.query,
    body: Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0),
    target: request.raw.url ?? "/",
    isHead: request.method === "HEAD",
    rawHeaders: request.raw.rawHeaders,
    requestId: own,
    idempotencyKey,
    signal: leavingOf(reply),
  });
  const answer = await (visit.isAdmitted ? confirmed(app, visit, run) : run);
  const sent = await send(app, answer, shown, route.errors, reply);
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

async function send(
  app: App,
  answer: Answer,
  requestId: string,
  errors: Route["errors"],
  reply: FastifyReply,
): Promise<unknown> {
  const headers = { ...idHeaders(requestId, errors), "cache-control": "no-store" };
  if (answer.kind === "file") {
    const { CLIENT_STALL_MS: stallMs } = app.config;
    await sendFile(reply, answer, { more: headers, stallMs }).catch((error) => {
      if (!reply.sent) throw error;
      app.log.warn({ err: error, requestId }, "a download was broken off");
    });
    return undefined;
  }
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
      const { status, headers: more, body } = failureOf(app, error, requestId, errors);
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
  const errors = shapeOf(request);
  const { status, headers, body } = failureOf(app, error, requestId, errors);
  const all = { ...idHeaders(requestId, errors), "cache-control": "no-store", ...headers };
  if (status < 600) return reply.code(status).headers(all).send(body);
  // The original storage gateway has a status that HTTP has not, and neither has Fastify.
  const type = { "content-type": "application/json; charset=utf-8" };
  reply.hijack();
  reply.raw.writeHead(status, { ...headersOf(reply), ...all, ...type }).end(JSON.stringify(body));
  return reply;
}

/** In whose shape a failure is told, also where no route was found. */
function shapeOf(request: FastifyRequest): Route["errors"] {
  const isStorage = /^\/(files?|node)(?=[/?]|$)/.test(request.raw.url ?? "");
  return routeOf(request)?.errors ?? (isStorage ? "storage" : "openai");
}

/** A failure in the shape of its endpoint. */
function failureOf(app: App, error: unknown, requestId: string, errors: Route["errors"]) {
  const { status, headers, body } = toErrorAnswer(error, requestId);
  logUnexpected(app, body.error.code, error, requestId);
  if (errors === "storage")
    return { headers, ...toEnvelopeFailure(toAppError(error), app.config.STORAGE_STATUS) };
  if (errors === "rpc") return { status, headers, body: toRpcFailure(body.error.message, status) };
  return errors === "openai" ? { status, headers, body } : { headers, ...toAnthropicError(status, body) };
}

/** Anthropic's clients look for the id under a name of its own. */
function idHeaders(requestId: string, errors: Route["errors"]): Readonly<Record<string, string>> {
  return { "x-request-id": requestId, ...(errors === "anthropic" && { "request-id": requestId }) };
}

const routesByUrl = new Map<string | undefined, Route>(routes.map((route) => [route.url, route]));

function routeOf({ routeOptions }: FastifyRequest): Route | undefined {
  return routesByUrl.get(routeOptions.url);
}

const NOT_TAKEN = new AppError("unsupported_media_type", "This endpoint takes no body of this type.");

/** JSON is read everywhere; forms only where they belong. */
function isTaken(type: string, request: FastifyRequest): boolean {
  return type === "application/json" || type in (routeOf(request)?.bodies ?? {});
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
 * everyone is open also to those whose key is of no use, as official clients always send one. Anthropic's send a key
 * as `X-Api-Key`, which counts at its endpoints where there is no Authorization.
 */
function authorizationOf(request: FastifyRequest, { access, errors }: Route): string | undefined {
  if (access === "public") return undefined;
  const { rawHeaders } = request.raw;
  let seen = 0;
  for (let at = 0; at < rawHeaders.length; at += 2)
    if (rawHeaders[at]?.length === 13 && rawHeaders[at]?.toLowerCase() === "authorization") seen++;
  if (seen > 1) throw new AppError("invalid_api_key", "Send one Authorization header.");
  const apiKey = request.headers["x-api-key"];
  if (seen === 0 && errors === "anthropic" && typeof apiKey === "string") return `Bearer ${apiKey}`;
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
