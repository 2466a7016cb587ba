import { Readable } from "node:stream";
import { createMcpHandler, isJSONRPCRequest } from "@modelcontextprotocol/server";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { App } from "../../src/app.ts";
import { ReplayKey } from "../../src/idempotency/replay-key.ts";
import { whenClosed } from "../../src/kernel/async/when-closed.ts";
import { AppError } from "../../src/kernel/errors.ts";
import { Slot } from "../../src/kernel/slot.ts";
import { ANONYMOUS } from "../../src/keys/auth/principal.ts";
import { hopOf } from "../../src/keys/auth/source-address.ts";
import { authorizationHeaderOf } from "../../src/rest/http/headers.ts";
import type { Graph } from "../federation/graph.ts";
import type { TrustedDocuments } from "../federation/policy/trusted-documents.ts";
import { OperationAccount } from "../graph/operation-account.ts";
import { readJsonBodies } from "../http/json-body.ts";
import { RequestAbort } from "../http/request-abort.ts";
import { acquireStreamSlot } from "../subscriptions/stream-slot.ts";
import type { Streams } from "../subscriptions/streams.ts";
import { createDocumentTools } from "./document-tools.ts";
import { createMcpServer } from "./mcp-server.ts";
import { paramsFault, parseFault } from "./message-check.ts";
import { type McpCall, OperationRunner } from "./run-operation.ts";

/** Lists of tools and resources never change while the server runs, so clients have no reason to listen. */
const MAX_LISTENERS = 1;

type Options = {
  readonly app: App;
  readonly graph: Graph;
  readonly streams: Streams;
  readonly trusted: TrustedDocuments;
};

/**
 * The Model Context Protocol at /mcp, over streamable HTTP without sessions: each POST is one message. The caller is
 * that of the `Authorization` header, as for every other endpoint; without one, public tools are listed. A request takes
 * one of the caller's slots for streams until it is answered, since any answer may become a stream.
 */
export async function mcpPlugin(server: FastifyInstance, options: Options): Promise<void> {
  const { app, graph, streams, trusted } = options;
  const tools = createDocumentTools(graph, trusted);
  const parts = { app, runner: new OperationRunner(streams), tools };
  const mcp = createMcpHandler(({ authInfo }) => createMcpServer(parts, callIn(authInfo)), {
    maxSubscriptions: MAX_LISTENERS,
    keepAliveMs: streams.limits.heartbeatMs,
    onerror: (error) => app.log.debug({ err: error }, "an MCP message was refused"),
  });
  server.addHook("onClose", () => mcp.close());
  readJsonBodies(server, streams.limits.jsonDepth);
  server.setErrorHandler((error, request, reply) => {
    // A body that was parsed is refused in the format of every other endpoint.
    const fault = request.body === undefined ? parseFault(error) : undefined;
    if (!fault) throw error;
    return reply.code(400).header("cache-control", "no-store").send(fault);
  });
  const { PUBLIC_URL: publicUrl } = app.config;
  const ownOrigin = publicUrl === undefined ? undefined : new URL(publicUrl).origin;
  const accounts = new Slot<FastifyRequest, OperationAccount>();
  server.route({
    method: "POST",
    url: "/mcp",
    exposeHeadRoute: false,
    bodyLimit: streams.limits.bodyBytes,
    // Before the body is read.
    onRequest: async (request, reply) => {
      refuseForeignPages(request, reply, ownOrigin);
      const authorization = authorizationHeaderOf(request.raw);
      accounts.set(request, await streams.authenticate(authorization, hopOf(request.raw)));
    },
    async handler(request, reply) {
      const account = accounts.get(request) ?? new OperationAccount(app, ANONYMOUS, hopOf(request.raw));
      if (Array.isArray(request.body))
        throw new AppError("invalid_body", "Send one message per request: batches are not supported.", {
          param: "body",
        });
      const fault = await paramsFault(request.body);
      if (fault) return reply.header("cache-control", "no-store").send(fault);
      const replayKey = () => ReplayKey.ofAuthorization(request.headers.authorization);
      // Before the tool runs: one that is billed must not be refused when its answer becomes a stream.
      if (isJSONRPCRequest(request.body))
        whenClosed(reply.raw, acquireStreamSlot(streams, account.principal, hopOf(request.raw)));
      const abort = new RequestAbort(reply.raw);
      const response = await mcp.fetch(toWebRequest(request, abort.signal), {
        parsedBody: request.body,
        authInfo: authInfoOf({ account, replayKey, request: request.raw }),
      });
      return send(reply, response);
    },
  });
}

/**
 * Refuses pages of origins that neither CORS nor PUBLIC_URL allows. The `Host` of a request allows nothing: a page whose
 * name was rebound to this server's address states its own.
 */
function refuseForeignPages(
  { headers: { origin } }: FastifyRequest,
  { raw }: FastifyReply,
  own?: string,
): void {
  if (origin === undefined || origin === own || raw.hasHeader("access-control-allow-origin")) return;
  throw new AppError("access_denied", "Pages of this origin may not call this server.");
}

/** The SDK passes this on unchanged and does not authenticate callers itself. */
function authInfoOf(call: McpCall) {
  return { token: "", clientId: call.account.principal.kind, scopes: [], extra: { call } };
}

function callIn(authInfo: { readonly extra?: Record<string, unknown> } | undefined): McpCall {
  return authInfo?.extra?.call as McpCall;
}

function toWebRequest(request: FastifyRequest, signal: AbortSignal): Request {
  const { method, body, headers, url } = request;
  const sent = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined || name === "authorization" ? [] : [[name, String(value)] as [string, string]],
  );
  const text = method === "POST" ? { body: JSON.stringify(body ?? null) } : {};
  // The host is not used, and that of the client may be none.
  return new Request(new URL(url, "http://localhost"), { method, headers: sent, signal, ...text });
}

/** Sends a response of the SDK, which may be a stream. */
function send(reply: FastifyReply, response: Response): FastifyReply {
  reply
    .code(response.status)
    .headers(Object.fromEntries(response.headers))
    .header("cache-control", "no-store");
  return response.body ? reply.send(Readable.fromWeb(response.body)) : reply.send();
}
