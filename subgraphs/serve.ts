import type { Socket } from "node:net";
import Fastify, { type FastifyInstance, type FastifyRequest } from "fastify";
import mercurius from "mercurius";
import type { WebSocket } from "ws";
import type { App } from "../src/app.ts";
import { nextTurn } from "../src/kernel/async/next-turn.ts";
import { AppError } from "../src/kernel/errors.ts";
import { ANONYMOUS } from "../src/keys/auth/principal.ts";
import { type Hop, hopOf } from "../src/keys/auth/source-address.ts";
import { PLUGIN_TIMEOUT_MS } from "../src/rest/http/plugin-timeout.ts";
import { abortSignalOf } from "../src/rest/http/request-facts.ts";
import { traceRequests } from "../src/rest/http/trace-requests.ts";
import {
  type Caller,
  identifyCaller,
  presentedHeaders,
  socketCredential,
  type Trust,
  UnknownRouter,
} from "./shared/caller.ts";
import { type Context, createContext } from "./shared/context.ts";
import { formatErrors } from "./shared/error-format.ts";
import { RoutedSocket } from "./shared/events/errors-as-events.ts";
import { toGraphFailure } from "./shared/failures.ts";
import { RoutedOperations } from "./shared/routed-operations.ts";
import type { Subgraph } from "./shared/schema/build-subgraph.ts";
import { interpretedIn } from "./shared/schema/interpreted-operations.ts";

const BODY_LIMIT_BYTES = 8 * 1_048_576;
const KEEP_ALIVE_MS = 10_000;
const FORBIDDEN = 4403;
const GRAPHQL_TYPE = "application/graphql-response+json";
/** Time to deliver the events that carry the reason, before a socket is closed. */
const FINAL_EVENTS_MS = 1_000;
/** Longer than a gateway keeps an idle connection, so that the gateway closes it first. */
const HTTP_KEEP_ALIVE_MS = 65_000;
/** Responses in progress have this long to finish when the process stops. */
const DRAIN_MS = 30_000;
/** Sockets that are ended in one turn of the event loop. */
const ENDED_PER_TURN = 8;

/**
 * Hosts one subgraph as a process of its own with Mercurius: GraphQL over HTTP and graphql-transport-ws at
 * `/graphql`, a Federation 2 service for any router. It serves only our gateways, which sign the caller's principal,
 * and routers that send `routerSecret` and forward the client's `Authorization`.
 */
export async function createSubgraphServer(
  app: App,
  subgraph: Subgraph,
  trust: Trust,
): Promise<FastifyInstance> {
  const server = Fastify({
    bodyLimit: BODY_LIMIT_BYTES,
    forceCloseConnections: "idle",
    return503OnClosing: false,
    keepAliveTimeout: HTTP_KEEP_ALIVE_MS,
    pluginTimeout: PLUGIN_TIMEOUT_MS,
  });
  // Unauthorized requests are refused before any work is done for them.
  traceRequests(server, () => true);
  drainOnClose(server);
  const callers = new WeakMap<FastifyRequest, Caller>();
  server.addHook("preValidation", async (request, reply) => {
    if (request.url === "/healthz" || request.headers.upgrade) return;
    // Mercurius' own serializer writes the indices in an error's path as strings, which no other router expects.
    reply.serializer(JSON.stringify);
    try {
      const caller = await identifyCaller(app, trust, presentedHeaders(request.raw));
      app.load.requests.identified(request.raw, caller.principal);
      callers.set(request, caller);
    } catch (error) {
      const { status, body } = refusal(error);
      await reply.code(status).send(body);
    }
  });
  // Fastify sets no type for a serializer of ours, and removes one that is set before an error.
  server.addHook("onSend", async (request, reply) => {
    if (!reply.hasHeader("content-type")) reply.type(graphTypeFor(request.headers.accept));
  });
  await server.register(mercurius, {
    schema: subgraph.schema,
    // Operations that come again are compiled in a turn of their own, and the variables of all are checked.
    jit: { minCount: 2 },
    errorFormatter: formatErrors,
    graphiql: false,
    path: "/graphql",
    context: (request, reply): Context =>
      contextOf(app, callers.get(request), hopOf(request.raw), {
        memory: app.load.requests.answerOf(request.raw, reply.raw),
        signal: abortSignalOf(reply),
      }),
    subscription: {
      fullWsTransport: true,
      keepAlive: KEEP_ALIVE_MS,
      // The returned object becomes part of the connection, on which `onConnect` is called.
      context: (socket, request) => ({ upgraded: { socket, request } }),
      async onConnect(this: unknown, { payload }: { payload?: unknown }) {
        const { socket, request } = (this as Connection).context.upgraded;
        try {
          const caller = await identifyCaller(app, trust, socketCredential(payload, request.raw));
          const context = contextOf(app, caller, hopOf(request.raw));
          if (caller.isGateway) return { ...context };
          return {
            ...context,
            routed: watchCredential(app, caller, { socket, operations: context.operations }),
          };
        } catch (error) {
          if (error instanceof AppError && !(error instanceof UnknownRouter))
            return { ...createContext(app, { principal: ANONYMOUS }), routed: new RoutedSocket(error) };
          if (!(error instanceof AppError)) app.log.error({ err: error }, "opening a socket failed");
          // Mercurius would refuse with a message that graphql-transport-ws does not have.
          else socket.close(FORBIDDEN, "Forbidden");
          return false;
        }
      },
    },
  });
  const isInterpreted = interpretedIn(subgraph.schema);
  server.graphql.addHook("preExecution", async (_schema, document, context, variables) => {
    const { routed, operations } = context as Partial<Context>;
    if (routed?.refusal) throw toGraphFailure(routed.refusal);
    await operations?.count(document).catch((error: unknown) => {
      throw toGraphFailure(error);
    });
    // Mercurius runs a document that a hook returns with graphql-js.
    return isInterpreted(document, variables) ? { document } : undefined;
  });
  server.graphql.addHook("onResolution", async (execution, context) => {
    (context as Partial<Context>).operations?.recordResult(execution);
  });
  server.get("/healthz", async () => ({ status: "ok", subgraph: subgraph.name }));
  return server;
}

/** Lets responses in progress finish when the server closes, and ends each connection after its last response. */
function drainOnClose(server: FastifyInstance): void {
  const upgraded = new Set<Socket>();
  let isClosing = false;
  server.server.on("request", ({ socket }, response) => {
    if (isClosing) response.setHeader("connection", "close");
    response.once("finish", () => isClosing && socket.destroySoon());
  });
  server.server.on("upgrade", (_request, socket: Socket) => {
    // Nothing would end a socket opened now, and closing waits for all sockets.
    if (isClosing) return socket.destroy();
    upgraded.add(socket);
    socket.once("close", () => upgraded.delete(socket));
  });
  server.addHook("preClose", async () => {
    isClosing = true;
    const cutOff = () => {
      server.server.closeAllConnections();
      // `closeAllConnections` skips upgraded sockets, such as one whose peer does not read.
      void inTurns([...upgraded], (socket) => socket.destroy());
    };
    setTimeout(cutOff, DRAIN_MS).unref();
    // Gateways resume subscriptions from their cursor, on whichever process listens next.
    await inTurns([...upgraded], (socket) => socket.destroySoon());
  });
}

/** The subscriptions of a socket end when it is closed, after the turn in which it is ended. */
async function inTurns(sockets: readonly Socket[], end: (socket: Socket) => void): Promise<void> {
  for (const [n, socket] of sockets.entries()) {
    end(socket);
    if (n % ENDED_PER_TURN === 0) await nextTurn();
  }
}

type Connection = {
  readonly context: { readonly upgraded: { readonly socket: WebSocket; readonly request: FastifyRequest } };
};

function contextOf(
  app: App,
  caller: Caller | undefined,
  hop: Hop,
  given: Partial<Pick<Context, "memory" | "signal">> = {},
): Context {
  if (!caller) throw new UnknownRouter();
  const context = createContext(app, { ...caller, ...given });
  return caller.isGateway ? context : { ...context, operations: new RoutedOperations(app, caller, hop) };
}

/** Our gateways watch the credentials of their clients; for third-party routers it is done here. */
function watchCredential(
  app: App,
  { principal }: Caller,
  { socket, operations }: { readonly socket: WebSocket; readonly operations: RoutedOperations | undefined },
): RoutedSocket {
  const routed = new RoutedSocket(undefined, operations);
  const stop = app.credentialWatch.watch(principal, (reason) => {
    routed.end(reason);
    setTimeout(() => socket.close(FORBIDDEN, reason.message), FINAL_EVENTS_MS).unref();
  });
  // The socket may have begun to close while its credential was looked up.
  if (socket.readyState !== socket.OPEN) stop();
  else socket.once("close", stop);
  return routed;
}

/** The media type of GraphQL for routers that name it: they then read the errors of any status. */
function graphTypeFor(accept = ""): string {
  return accept.includes(GRAPHQL_TYPE) ? GRAPHQL_TYPE : "application/json";
}

/**
 * A client's invalid credential is a GraphQL response, which routers forward unchanged; an unknown router gets a 401.
 */
function refusal(error: unknown): { readonly status: number; readonly body: object } {
  if (!(error instanceof AppError)) throw error;
  const errors = [{ message: error.message, extensions: { code: error.code } }];
  if (error instanceof UnknownRouter) return { status: 401, body: { errors } };
  return { status: 200, body: { data: null, errors } };
}
