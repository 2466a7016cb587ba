import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import type { App } from "../src/app.ts";
import type { Config } from "../src/config.ts";
import { GRAPH_LIMITS } from "../src/graph-limits.ts";
import { forEachInTurns } from "../src/kernel/async/shared-turns.ts";
import { AppError } from "../src/kernel/errors.ts";
import { hopOf, isTrustedPeer } from "../src/keys/auth/source-address.ts";
import { KnownPaths, routedTarget } from "../src/rest/http/known-paths.ts";
import { PLUGIN_TIMEOUT_MS } from "../src/rest/http/plugin-timeout.ts";
import { traceRequests } from "../src/rest/http/trace-requests.ts";
import { answerFailure, answerUnknown, badPath, restPlugin } from "../src/rest/rest.plugin.ts";
import { restPaths } from "../src/rest/routes.ts";
import type { Graph } from "./federation/graph.ts";
import { withHiddenNames } from "./federation/policy/hidden-names.ts";
import { createPolicy } from "./federation/policy/policy.ts";
import {
  NO_TRUSTED_DOCUMENTS,
  readTrustedDocuments,
  type TrustedDocuments,
} from "./federation/policy/trusted-documents.ts";
import { graphPlugin } from "./graph/graph.plugin.ts";
import { trustingOwn } from "./graph/own-documents.ts";
import { PersistedQueries } from "./graph/persisted-queries.ts";
import { limitBodyTime } from "./http/body-deadline.ts";
import {
  continueWhenRead,
  discardRefusedBodies,
  refuseEncodedBodies,
  refuseUnknownExpectations,
  requireHost,
} from "./http/body-guards.ts";
import { answerClientError, rememberLastResponses } from "./http/client-error.ts";
import { allowPages } from "./http/cors.ts";
import { serveHealth } from "./http/health.ts";
import { countRequests } from "./http/metrics.ts";
import { gatedServer, limitLoad } from "./http/overload.ts";
import { serveSessionCookie } from "./http/session-cookie.ts";
import { Turns } from "./http/turns.ts";
import { mcpPlugin } from "./mcp/mcp.plugin.ts";
import { type DevelopmentWallet, dashboardPlugin, routableUrl } from "./pages/dashboard.plugin.ts";
import { docsPlugin } from "./pages/docs.plugin.ts";
import { serveExplorer } from "./pages/explorer.plugin.ts";
import { sendLandingPage, serveNoExplorer } from "./pages/landing-page.ts";
import { statusPlugin } from "./pages/status.plugin.ts";
import { ssePlugin } from "./subscriptions/streams.sse.ts";
import { createStreams } from "./subscriptions/streams.ts";
import { isGraphHandshake, serveWebSockets } from "./subscriptions/streams.ws.ts";

const HEADERS_MS = 15_000;
/** Added to the body deadlines, for bodies that no route reads. */
const REQUEST_GRACE_MS = 10_000;
const KEEP_ALIVE_MS = 65_000;
/** Responses in progress have this long to finish; then streams end with an error, billed for what was delivered. */
const DRAIN_MS = 30_000;
/** For what is still in progress after that: the end of those streams, and other responses, which are cut off. */
const CUT_OFF_MS = 2_000;
const MAX_HEADER_BYTES = 16_384;
const MAX_HEADERS = 100;

/**
 * Creates the Fastify server for REST, GraphQL, its streams and the dashboard. It does not listen yet. Closing it
 * stops accepting requests, ends the GraphQL streams, and waits `drainMs` for responses in progress.
 */
export async function createServer(
  app: App,
  opened: Graph,
  wallet?: DevelopmentWallet,
  drainMs = DRAIN_MS,
): Promise<FastifyInstance> {
  const introspection =
    (app.config.INTROSPECTION ?? (app.config.NETWORK === "devnet" ? "on" : "off")) === "on";
  const graph = introspection ? opened : withHiddenNames(opened);
  const requestTimeout = Math.max(app.config.BODY_MS, app.config.UPLOAD_MS) + REQUEST_GRACE_MS;
  const turns = new Turns();
  const server = Fastify({
    serverFactory: gatedServer(turns, {
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: Math.min(HEADERS_MS, requestTimeout),
      requestTimeout,
      keepAliveTimeout: KEEP_ALIVE_MS,
      // Any other upgrade request is answered as a request without `Upgrade` (RFC 9110, 7.8).
      shouldUpgradeCallback: isGraphHandshake,
      // Our hook refuses a missing `Host` with the common error body; Node would send none.
      requireHostHeader: false,
    }),
    forceCloseConnections: "idle",
    return503OnClosing: false,
    pluginTimeout: PLUGIN_TIMEOUT_MS,
    routerOptions: { caseSensitive: true },
    rewriteUrl: ({ url = "/" }) => routedTarget(routableUrl(url), restPaths),
    frameworkErrors: (_error, request, reply) => badPath(app, request, reply),
    clientErrorHandler: answerClientError,
  });
  server.server.maxHeadersCount = MAX_HEADERS;
  server.server.on("connection", () => graph.introspections.accepted());
  server.setErrorHandler((error, request, reply) => answerFailure(app, error, request, reply));
  if (app.metrics) countRequests(server, app.metrics);
  const isProxy = ({ raw }: FastifyRequest) => isTrustedPeer(hopOf(raw), app.trustedProxies);
  limitLoad(server, app);
  traceRequests(server, isProxy);
  requireHost(server);
  refuseEncodedBodies(server);
  discardRefusedBodies(server);
  refuseUnknownExpectations(server.server);
  rememberLastResponses(server.server);
  continueWhenRead(server.server);
  limitBodyTime(server, { bodyMs: app.config.BODY_MS, uploadMs: app.config.UPLOAD_MS });
  const trusted = trustedDocuments(app.config);
  const policy = createPolicy({
    schema: graph.apiSchema,
    supergraph: graph.supergraph,
    limits: app.config.GRAPH_LIMITS ?? GRAPH_LIMITS,
    introspection,
    trusted: trustingOwn(trusted),
  });
  const persisted = new PersistedQueries();
  const streams = createStreams(app, graph, { policy, persisted });
  const sockets = serveWebSockets(server.server, streams, turns);
  // A connection that is busy when closing begins would otherwise stay open, idle, until its keep-alive expires.
  let closing = false;
  server.server.on("request", ({ socket }, response) => {
    response.once("finish", () => closing && socket.destroySoon());
  });
  server.addHook("preClose", async () => {
    closing = true;
    setTimeout(() => {
      void app.exchanges.endStreams(new AppError("unavailable", "The server is shutting down."));
      setTimeout(() => server.server.closeAllConnections(), CUT_OFF_MS).unref();
    }, drainMs).unref();
    await sockets.close();
    await forEachInTurns([...streams.responses], (response) => response.end());
  });
  const known = knownPaths(server);
  const answerLost = (request: FastifyRequest, reply: FastifyReply) =>
    sendLandingPage(request, reply, introspection) ?? answerUnknown(app, known, request, reply);
  server.setNotFoundHandler(answerLost);
  allowPages(server, {
    origins: app.config.CORS_ORIGINS,
    isDevnet: app.config.NETWORK === "devnet",
    known,
    answerUnknown: (request, reply) => answerUnknown(app, known, request, reply),
  });
  // Before the body is read, which could be refused for its type.
  server.addHook("onRequest", (request, reply, done) => {
    if (!request.is404) return done();
    Promise.resolve(answerLost(request, reply)).catch(done);
  });
  serveSessionCookie(server, app);
  await server.register(restPlugin, { app, known });
  if (introspection) serveExplorer(server);
  else serveNoExplorer(server);
  await server.register(docsPlugin, { introspection });
  await server.register(graphPlugin, { app, graph, policy, persisted, streams, introspection });
  await server.register(ssePlugin, { app, streams });
  await server.register(mcpPlugin, { app, graph, streams, trusted });
  await server.register(dashboardPlugin, { app, wallet });
  if (app.config.STATUS_PAGE === "on") await server.register(statusPlugin, { app });
  serveHealth(server, () => app.readiness());
  return server;
}

/** Collects the paths of every route registered from now on. OPTIONS is answered everywhere. */
function knownPaths(server: FastifyInstance): KnownPaths {
  const known = new KnownPaths();
  // The page for browsers: see `sendLandingPage`.
  known.add("/", ["GET", "HEAD"]);
  server.addHook("onRoute", ({ url, method, routePath }) => {
    if (method === "OPTIONS") return;
    known.add(url, method);
    // The root of a prefix is also served with a slash, which Fastify does not report.
    if (routePath === "") known.add(`${url}/`, method);
  });
  return known;
}

function trustedDocuments(config: Config): TrustedDocuments {
  const { TRUSTED_DOCUMENTS: path, TRUSTED_DOCUMENTS_ONLY: only } = config;
  return path === undefined ? NO_TRUSTED_DOCUMENTS : readTrustedDocuments(path, only === "on");
}
