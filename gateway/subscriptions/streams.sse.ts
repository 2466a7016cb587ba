import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { ExecutionResult, GraphQLError } from "graphql";
import { getOperationAST } from "graphql";
import type { App } from "../../src/app.ts";
import { ReplayKey } from "../../src/idempotency/replay-key.ts";
import { closeSource } from "../../src/kernel/async/releasing-iterator.ts";
import { AppError } from "../../src/kernel/errors.ts";
import { Slot } from "../../src/kernel/slot.ts";
import { ANONYMOUS } from "../../src/keys/auth/principal.ts";
import { hopOf } from "../../src/keys/auth/source-address.ts";
import { authorizationHeaderOf } from "../../src/rest/http/headers.ts";
import type { OperationPayload } from "../federation/policy/policy.ts";
import { refuse, showError } from "../federation/policy/refusals.ts";
import { answerFailures, sendErrors } from "../graph/graph-errors.ts";
import { OperationAccount } from "../graph/operation-account.ts";
import { readJsonBodies } from "../http/json-body.ts";
import { weightOf } from "../http/media-types.ts";
import { ClientLeft } from "../http/request-abort.ts";
import { EventStreams } from "./event-streams.ts";
import { lossResult, pump, resultText } from "./results.ts";
import { payloadOf } from "./stream-payload.ts";
import { acquireStreamSlot } from "./stream-slot.ts";
import type { StreamContext, StreamedOperation } from "./streamed-operation.ts";
import { StreamingResponse } from "./streaming-response.ts";
import type { Streams } from "./streams.ts";

const STREAM_HEADERS = { "content-type": "text/event-stream; charset=utf-8", connection: "keep-alive" };
/** Media ranges that accept JSON. */
const JSON_RANGES = ["application/graphql-response+json", "application/json", "application/*", "*/*"];
const TOKEN_HEADER = "x-graphql-event-stream-token";

/** A request, its caller, and its reply. */
type Call = Pick<StreamContext, "account" | "replayKey"> & {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
};

/**
 * GraphQL over server-sent events at /graphql/stream, by the protocol of graphql-sse: a connection per operation
 * (for subscriptions at /graphql as well), or one connection for several operations, reserved with PUT. On its own
 * connection, the errors of a refused operation are a result; on a shared connection they are status 400. The
 * credential is the `Authorization` header of every request; an invalid one gets the same status as on REST. A
 * reserved stream is found by its token together with the credential that reserved it.
 */
export async function ssePlugin(
  server: FastifyInstance,
  { app, streams }: { readonly app: App; readonly streams: Streams },
): Promise<void> {
  const { limits } = streams;
  const reserved = new EventStreams(streams);
  answerFailures(server, app);
  readJsonBodies(server, limits.jsonDepth);
  server.addHook("preClose", async () => reserved.close());
  const accounts = new Slot<FastifyRequest, OperationAccount>();
  server.route({
    method: ["GET", "POST", "PUT", "DELETE"],
    url: "/graphql/stream",
    exposeHeadRoute: false,
    bodyLimit: limits.bodyBytes,
    // Before the body is read.
    onRequest: async (request) => {
      const authorization = authorizationHeaderOf(request.raw);
      accounts.set(request, await streams.authenticate(authorization, hopOf(request.raw)));
    },
    async handler(request, reply) {
      const account = accounts.get(request) ?? new OperationAccount(app, ANONYMOUS, hopOf(request.raw));
      const replayKey = () => ReplayKey.ofAuthorization(request.headers.authorization);
      const call = { request, reply, account, replayKey };
      reply.header("cache-control", "no-store");
      if (request.method === "PUT") return reserve(streams, reserved, call);
      const token = tokenOf(request);
      if (request.method === "DELETE") return end(reserved, token, call);
      if (!wantsEvents(request)) return add(streams, reserved, token, call);
      if (token === undefined) return streamEvents(streams, call);
      reserved.find(token, account.principal).open((onClose) => openResponse(streams, call, onClose));
      return reply;
    },
  });
}

/** Answers one operation on its own connection. Throws `rate_limit_exceeded` before anything is sent. */
export async function streamEvents(streams: Streams, call: Call): Promise<FastifyReply> {
  const { request, reply } = call;
  const abort = new AbortController();
  const operation = await admit(streams, call, payloadOf(request), abort.signal);
  if (operation === "answered") return reply;
  const isAdmitted = "document" in operation;
  const response = openResponse(streams, call, () => {
    abort.abort(new ClientLeft());
    if (isAdmitted) operation.contextValue.memory.end();
  });
  if (abort.signal.aborted) return reply;
  // The protocol reports a refusal as a result: its client retries on a status other than 200.
  const results = isAdmitted
    ? await streams.run(operation, "both").catch((error: unknown) => lossResult(error, streams.report))
    : { errors: operation };
  const letGo = () => {
    if (Symbol.asyncIterator in results) closeSource(results);
  };
  abort.signal.addEventListener("abort", letGo);
  if (abort.signal.aborted) letGo();
  const deliver = (result: ExecutionResult) => response.write(`event: next\ndata: ${resultText(result)}\n\n`);
  await pump(results, deliver, (reason) => deliver(lossResult(reason, streams.report)));
  response.end("event: complete\ndata:\n\n");
  return reply;
}

function openResponse(
  streams: Streams,
  { request, reply, account }: Call,
  onClose: () => void,
): StreamingResponse {
  const { stallMs, responses: among, limits } = streams;
  const release = acquireStreamSlot(streams, account.principal, hopOf(request.raw));
  reply.hijack();
  const beat = { stallMs, heartbeat: ":\n\n", heartbeatMs: limits.heartbeatMs, among };
  return new StreamingResponse(reply.raw, STREAM_HEADERS, beat, () => {
    release();
    onClose();
  });
}

function reserve(streams: Streams, reserved: EventStreams, { request, reply, account }: Call): FastifyReply {
  const accept = request.headers.accept ?? "*/*";
  if (!/\*\/\*|text\/(plain|\*)/.test(accept))
    return sendErrors(reply, 406, [
      refuse("The token of a stream is sent as text/plain: accept text/plain.").toJSON(),
    ]);
  const memory = streams.memoryOf(request.raw, account.principal);
  const token = reserved.reserve(account.principal, hopOf(request.raw), memory);
  return reply.code(201).type("text/plain; charset=utf-8").send(token);
}

function end(
  reserved: EventStreams,
  token: string | undefined,
  { request, reply, account }: Call,
): FastifyReply {
  const { operationId } = request.query as { operationId?: unknown };
  if (typeof operationId !== "string" || operationId === "")
    throw new AppError("invalid_parameter", "Identify the operation with `operationId`.", {
      param: "operationId",
    });
  reserved.find(token, account.principal).stopById(operationId);
  return reply.code(200).send();
}

/** Adds an operation to a reserved stream. */
async function add(
  streams: Streams,
  reserved: EventStreams,
  token: string | undefined,
  call: Call,
): Promise<FastifyReply> {
  const { request, reply, account } = call;
  const stream = reserved.find(token, account.principal);
  const payload = payloadOf(request);
  const id: unknown = payload.extensions?.operationId;
  if (typeof id !== "string" || id === "")
    throw new AppError("invalid_parameter", "Identify the operation with `extensions.operationId`.", {
      param: "extensions",
    });
  const own = stream.begin(id);
  const operation = await admit(streams, call, payload, own.abort.signal).catch((error: unknown) => {
    stream.stop(own);
    throw error;
  });
  if (operation !== "answered" && "document" in operation) {
    void stream.run(own, operation);
    return reply.code(202).send();
  }
  stream.stop(own);
  if (operation === "answered") return reply;
  return sendErrors(
    reply,
    400,
    operation.map((error) => showError(error.toJSON())),
  );
}

/** The admitted operation, or the errors that refuse it. Throws `rate_limit_exceeded`. */
async function admit(
  streams: Streams,
  { request, reply, account, replayKey }: Call,
  payload: OperationPayload,
  signal: AbortSignal,
): Promise<StreamedOperation | readonly GraphQLError[] | "answered"> {
  const memory = streams.memoryOf(request.raw, account.principal);
  const operation = await streams.admit(payload, { account, replayKey, memory, signal });
  if (!("document" in operation)) return operation;
  const kind = getOperationAST(operation.document, operation.operationName)?.operation;
  if (kind === "mutation" && request.method === "GET") {
    sendErrors(reply.header("allow", "POST"), 405, [refuse("Send mutations with POST.").toJSON()]);
    return "answered";
  }
  return operation;
}

/**
 * Whether a request to /graphql is answered with server-sent events: a subscription whose client accepts them, or a
 * refused operation whose client does not accept JSON.
 */
export function isEventStream(streams: Streams, request: FastifyRequest): boolean {
  if (!wantsEvents(request)) return false;
  try {
    const kind = streams.kindOf(payloadOf(request));
    return kind === "subscription" || (kind === "refused" && !takesJson(request));
  } catch {
    return !takesJson(request);
  }
}

/**
 * Whether a client accepts no whole result but as an event: that of graphql-sse sends queries and mutations like that
 * too.
 */
export function takesOnlyEvents(request: FastifyRequest): boolean {
  const { accept = "" } = request.headers;
  return wantsEvents(request) && !takesJson(request) && weightOf(accept, "multipart/mixed") === 0;
}

function takesJson({ headers: { accept = "" } }: FastifyRequest): boolean {
  return JSON_RANGES.some((range) => weightOf(accept, range) > 0);
}

function wantsEvents({ headers }: FastifyRequest): boolean {
  return weightOf(headers.accept ?? "", "text/event-stream") > 0;
}

function tokenOf({ headers, query }: FastifyRequest): string | undefined {
  const token = headers[TOKEN_HEADER] ?? (query as { token?: unknown }).token;
  return typeof token === "string" && token !== "" ? token : undefined;
}
