import type { FastifyInstance, FastifyReply, FastifyRequest, preParsingHookHandler } from "fastify";
import type { App } from "../app.ts";
import { ReplayKey } from "../idempotency/replay-key.ts";
import { AppError } from "../kernel/errors.ts";
import { Slot } from "../kernel/slot.ts";
import { permit } from "../keys/auth/permissions.ts";
import type { Principal } from "../keys/auth/principal.ts";
import type { AuthRequest } from "../keys/auth/request-authenticator.ts";
import { hopOf } from "../keys/auth/source-address.ts";
import type { ClientExchange } from "../receipts/client-exchange.ts";
import { formUploadPlugin } from "./form-upload/form-upload.plugin.ts";
import { FormUpload } from "./form-upload/form-upload.ts";
import type { Answer } from "./http/answer.ts";
import { openToPages, servePreflights } from "./http/cors.ts";
import { discardBody } from "./http/discard-body.ts";
import { authorizationHeaderOf, unsupportedType } from "./http/headers.ts";
import { decodedPath, type KnownPaths } from "./http/known-paths.ts";
import { quotaHeaders } from "./http/quota-headers.ts";
import { sendAnswer, sendFailure } from "./http/reply.ts";
import { abortSignalOf, authorizationOf, idempotencyKeyOf, requestIdsOf } from "./http/request-facts.ts";
import { jsonPartsPlugin } from "./json-parts/json-parts.plugin.ts";
import { JsonParts, NO_PARTS } from "./json-parts/json-parts.ts";
import { toOpenApi } from "./openapi/openapi.ts";
import type { Route } from "./route.ts";
import { routes } from "./routes.ts";

const JSON_TYPE = "application/json";
const PARSED_TYPES: readonly string[] = [JSON_TYPE, "multipart/form-data"];

/**
 * Mounts the REST API. Every response has `X-Request-ID`; every failure has the one error shape. `known` has the methods
 * of every path of the server.
 */
export async function restPlugin(
  server: FastifyInstance,
  { app, known }: { readonly app: App; readonly known: KnownPaths },
): Promise<void> {
  server.removeAllContentTypeParsers();
  for (const type of PARSED_TYPES)
    server.addContentTypeParser(type, { parseAs: "buffer" }, (_request, body, done) => done(null, body));
  server.addContentTypeParser("*", (request, _body, done) =>
    done(unsupportedType(acceptedTypesOf(routeOf(request)))),
  );
  server.setErrorHandler((error, request, reply) => answerFailure(app, error, request, reply));
  for (const route of routes) {
    const options = {
      method: route.method,
      url: route.url,
      bodyLimit: route.takesPrompt ? app.config.MAX_PROMPT_MIB * MIB : route.bodyLimitBytes,
      onRequest: [
        ...(route.allowAnyOrigin ? [openToPages] : []),
        (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void) => {
          // A client that waits for `100 Continue` gets it only if its credential is valid.
          const isFirst = hasLargeBody(request) || route.takesUpload || request.headers.expect !== undefined;
          if (!isFirst) return done();
          authenticateFirst(app, route, request, reply).then(() => done(), done);
        },
      ],
      preParsing: refuseOtherTypes(acceptedTypesOf(route)),
      handler: (request: FastifyRequest, reply: FastifyReply) => handle(app, route, request, reply),
    };
    if (route.takesUpload)
      await server.register(formUploadPlugin, { route: options, memory: app.load.requests });
    else if (!route.readsParts) server.route(options);
    else
      await server.register(jsonPartsPlugin, {
        ...{ route: options, memory: app.load.requests },
        maxTextLength: route.readsParts.maxTextLength,
      });
  }
  servePreflights(server, routes, known);
  let described: Buffer | undefined;
  server.get("/openapi.json", async (_request, reply) => {
    described ??= Buffer.from(JSON.stringify(toOpenApi(routes)));
    return reply.type("application/json; charset=utf-8").send(described);
  });
}

/**
 * Answers a request that matches no route, in the same shape as any failure: 405 with `Allow` for a path that is known
 * with other methods, else 404. Under `/v1/management-keys` a key learns only that it is not permitted (SPEC 5.3).
 */
export async function answerUnknown(
  app: App,
  known: KnownPaths,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const [path = "/"] = request.url.split("?", 1);
  try {
    if (/^\/v1\/management-keys(?=\/|$)/.test(decodedPath(path))) {
      const authorization = authorizationHeaderOf(request.raw);
      const principal = await authenticate(app, { authorization, hop: hopOf(request.raw) }, reply);
      permit(principal, "management-key.read");
    }
    throw unknown(request.method, isIndexerRoot(request.method, path) ? [] : known.methodsOf(path));
  } catch (error) {
    return answerFailure(app, error, request, reply);
  }
}

/** The root of a storage indexer is not a page: programs get the 404 that they expect (SPEC 2.1). */
function isIndexerRoot(method: string, path: string): boolean {
  return path === "/" && (method === "GET" || method === "HEAD");
}

function unknown(method: string, allowed: readonly string[]): AppError {
  // A path of files that takes the method has no such file.
  if (allowed.length === 0 || allowed.includes(method))
    return new AppError("not_found", "There is no such path.");
  return new AppError("method_not_allowed", `This path does not accept ${method}.`, {
    headers: { allow: allowed.join(", ") },
  });
}

/** Answers a path that cannot be decoded, in the same shape as any failure. */
export function badPath(app: App, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  // Fastify runs no hooks for it.
  discardBody(request, reply.code(400));
  return answerFailure(
    app,
    new AppError("invalid_parameter", "The path is not well-formed."),
    request,
    reply,
  );
}

const MIB = 1_048_576;

/** A larger body is read only after its sender was authenticated and permitted. */
const LARGE_BODY_BYTES = 65_536;
const authenticated = new Slot<FastifyRequest, Principal>();
const clients = new Slot<FastifyRequest, ClientExchange>();

/** Authenticates a request before its large body is read: a body without a valid credential is not received. */
async function authenticateFirst(
  app: App,
  route: Route,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const principal = await authenticate(app, authRequestOf(route, request), reply);
  if (route.access !== "public") permit(principal, route.access);
  authenticated.set(request, principal);
  app.load.requests.identified(request.raw, principal);
}

/** Whether the body is, or may be, a large one: a chunked body does not announce its length. */
function hasLargeBody({ headers }: FastifyRequest): boolean {
  return (
    headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > LARGE_BODY_BYTES
  );
}

function authRequestOf(route: Route, request: FastifyRequest): AuthRequest {
  return {
    authorization: authorizationOf(request, route),
    hop: hopOf(request.raw),
    // A replayed answer goes through no admission.
    isAdmitted: route.isAdmitted && idempotencyKeyOf(request) === undefined,
  };
}

function authenticate(app: App, authRequest: AuthRequest, reply: FastifyReply): Promise<Principal> {
  return app.requestAuthenticator.authenticate(authRequest, (quota) => reply.headers(quotaHeaders(quota)));
}

async function handle(
  app: App,
  route: Route,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const { own, shown } = requestIdsOf(request);
  const idempotencyKey = idempotencyKeyOf(request);
  const authRequest = authRequestOf(route, request);
  const principal = authenticated.get(request) ?? (await authenticate(app, authRequest, reply));
  app.load.requests.identified(request.raw, principal);
  const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
  const client = isBilled(route) ? app.receipts.begin(route.url, body, reply.elapsedTime) : undefined;
  if (client) clients.set(request, client);
  const run = route.run(app, {
    principal,
    params: request.params as Record<string, string>,
    query: request.query,
    body,
    parts: request.body instanceof JsonParts ? request.body : NO_PARTS,
    upload: request.body instanceof FormUpload ? request.body : undefined,
    target: request.raw.url ?? "/",
    isHead: request.method === "HEAD",
    rawHeaders: request.raw.rawHeaders,
    requestId: own,
    client,
    idempotencyKey,
    replayKey: () => ReplayKey.ofAuthorization(authRequest.authorization),
    signal: abortSignalOf(reply),
    count: (requests) =>
      app.requestAuthenticator.take({ principal, hop: authRequest.hop }, requests, (quota) =>
        reply.headers(quotaHeaders(quota)),
      ),
    reserve: (bytes) => app.load.requests.of(request.raw, reply.raw).reserve(bytes),
  });
  const answer = await (authRequest.isAdmitted ? confirmed(app, authRequest, run) : run);
  const sent = await sendAnswer(app, answer, { requestId: shown, errors: shapeOf(request), client }, reply);
  if (reply.statusCode < 400) app.keyUse.record(principal, authRequest.hop);
  return sent;
}

/** Whether its requests are billed when they are answered; those for a job are billed when it ends. */
function isBilled({ access, isAdmitted }: Route): boolean {
  return isAdmitted && access === "inference.run";
}

/** If a request with a cached key failed before its admission, the key may be revoked: then that error is returned. */
async function confirmed(app: App, { authorization }: AuthRequest, answer: Promise<Answer>): Promise<Answer> {
  const confirm = async (error: unknown): Promise<never> => {
    if (error instanceof AppError && error.status < 500 && error.status !== 401)
      await app.authenticate(authorization);
    throw error;
  };
  const known = await answer.catch(confirm);
  if (known.kind !== "stream") return known;
  return { kind: "stream", run: (sink) => known.run(sink).catch(confirm) };
}

/** Sends a failure in the shape and with the headers that every failure has. */
export function answerFailure(
  app: App,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const { shown: requestId } = requestIdsOf(request);
  return sendFailure(
    app,
    error,
    { requestId, errors: shapeOf(request), client: clients.get(request) },
    reply,
  );
}

/** The error format of a request, also if no route was found. */
function shapeOf(request: FastifyRequest): Route["errors"] {
  const route = routeOf(request);
  const isForAnthropic = request.headers["anthropic-version"] !== undefined;
  if (route?.hasAnthropicShape && isForAnthropic) return "anthropic";
  if (route) return route.errors;
  const { url = "" } = request.raw;
  if (/^\/(files?|node)(?=[/?]|$)/.test(url)) return "storage";
  return isForAnthropic || /^\/v1\/messages(?=[/?]|$)/.test(url) ? "anthropic" : "openai";
}

const routesByEndpoint = new Map<string, Route>(
  routes.map((route) => [`${route.method} ${route.url}`, route]),
);

function routeOf({ method, routeOptions }: FastifyRequest): Route | undefined {
  return routesByEndpoint.get(`${method === "HEAD" ? "GET" : method} ${routeOptions.url}`);
}

/**
 * The media types that a route accepts. JSON always is, as clients send an empty object even if no body is expected,
 * except where a form is read while it arrives.
 */
function acceptedTypesOf(route: Route | undefined): readonly string[] {
  const { bodies = {}, takesUpload } = route ?? {};
  const types = Object.keys(bodies);
  return takesUpload || types.includes(JSON_TYPE) ? types : [JSON_TYPE, ...types];
}

/** Refuses a type that has a parser, but not on this route, before the body is read. */
function refuseOtherTypes(accepted: readonly string[]): preParsingHookHandler {
  return (request, _reply, payload, done) => {
    const type = request.headers["content-type"]?.split(";")[0]?.trim().toLowerCase() ?? "";
    const isRefused = PARSED_TYPES.includes(type) && !accepted.includes(type);
    done(isRefused ? unsupportedType(accepted) : null, payload);
  };
}
