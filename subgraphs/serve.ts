import type { Socket } from "node:net";
import Fastify, { type FastifyInstance } from "fastify";
import mercurius from "mercurius";
import type { App } from "../src/app.ts";
import { traceRequests } from "../src/rest/trace-requests.ts";
import type { Subgraph } from "./shared/build-subgraph.ts";
import { type Context, createContext } from "./shared/context.ts";
import { openPrincipal, PRINCIPAL_HEADER } from "./shared/principal-token.ts";

const BODY_LIMIT_BYTES = 8 * 1_048_576;
const KEEP_ALIVE_MS = 10_000;
/** Longer than a gateway keeps an idle connection, so that it is the gateway who ends it. */
const HTTP_KEEP_ALIVE_MS = 65_000;
/** Answers under way have this long when the process ends. */
const DRAIN_MS = 30_000;

/**
 * Hosts one subgraph as a process of its own, by Mercurius: GraphQL over HTTP and graphql-transport-ws at `/graphql`.
 * It answers only callers who present a principal that a gateway signed with `secret`.
 */
export async function createSubgraphServer(
  app: App,
  subgraph: Subgraph,
  secret: string,
): Promise<FastifyInstance> {
  const server = Fastify({
    bodyLimit: BODY_LIMIT_BYTES,
    forceCloseConnections: "idle",
    return503OnClosing: false,
    keepAliveTimeout: HTTP_KEEP_ALIVE_MS,
  });
  // Who is no gateway is refused before anything is done for them.
  traceRequests(server, () => true);
  drainOnClose(server);
  const contextOf = (token: unknown): Context => createContext(app, openPrincipal(token, secret));
  server.addHook("preValidation", async (request, reply) => {
    if (request.url === "/healthz" || request.headers.upgrade) return;
    try {
      openPrincipal(request.headers[PRINCIPAL_HEADER], secret);
    } catch {
      await reply.code(401).send({ errors: [{ message: "This process only answers its gateways." }] });
    }
  });
  await server.register(mercurius, {
    schema: subgraph.schema,
    jit: 1,
    graphiql: false,
    path: "/graphql",
    context: (request): Context => contextOf(request.headers[PRINCIPAL_HEADER]),
    subscription: {
      fullWsTransport: true,
      keepAlive: KEEP_ALIVE_MS,
      onConnect: (message: { payload?: Record<string, unknown> }) => {
        try {
          return { ...contextOf(message.payload?.[PRINCIPAL_HEADER]) };
        } catch {
          return false;
        }
      },
    },
  });
  server.get("/healthz", async () => ({ status: "ok", subgraph: subgraph.name }));
  return server;
}

/** Lets answers under way be given when the server closes, and ends each connection behind its last answer. */
function drainOnClose(server: FastifyInstance): void {
  const upgraded = new Set<Socket>();
  let isClosing = false;
  server.server.on("request", ({ socket }, response) => {
    if (isClosing) response.setHeader("connection", "close");
    response.once("finish", () => isClosing && socket.destroySoon());
  });
  server.server.on("upgrade", (_request, socket: Socket) => {
    upgraded.add(socket);
    socket.once("close", () => upgraded.delete(socket));
  });
  server.addHook("preClose", async () => {
    isClosing = true;
    // Gateways resume subscriptions from their cursor, at whoever listens next.
    for (const socket of upgraded) socket.destroySoon();
    setTimeout(() => server.server.closeAllConnections(), DRAIN_MS).unref();
  });
}
