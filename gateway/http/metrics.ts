import Fastify, { type FastifyInstance, type FastifyRequest } from "fastify";
import type { App } from "../../src/app.ts";
import type { Metrics } from "../../src/metrics/metrics.ts";
import { PLUGIN_TIMEOUT_MS } from "../../src/rest/http/plugin-timeout.ts";
import { listenAt } from "../listen.ts";
import type { Phase } from "../roles/start.ts";
import { serveHealth } from "./health.ts";

/** Serves `/metrics` and the health checks on a separate port, by default reachable only from this machine (F60). */
export async function startMetrics(
  app: App,
  metrics: Metrics,
  { host, port, phase }: { readonly host: string; readonly port: number; readonly phase: () => Phase },
): Promise<{ readonly origin: string; close(): Promise<void> }> {
  const server = Fastify({ forceCloseConnections: true, pluginTimeout: PLUGIN_TIMEOUT_MS });
  server.get("/metrics", async (_request, reply) => {
    const { type, body } = await metrics.text();
    return reply.header("content-type", type).send(body);
  });
  // This port answers before and after the process serves.
  serveHealth(server, async () => {
    const { ready, parts } = await app.readiness();
    const isServing = phase() === "serving";
    return { ready: ready && isServing, parts: { process: isServing ? "ok" : phase(), ...parts } };
  });
  await listenAt(server, { host, port, setting: "METRICS_PORT" });
  return { origin: server.listeningOrigin, close: () => server.close() };
}

/** Counts every request by route; a path without a route counts as `unknown`. */
export function countRequests(server: FastifyInstance, metrics: Metrics): void {
  server.addHook("onResponse", (request: FastifyRequest, reply, done) => {
    metrics.http({
      method: request.method,
      route: request.is404 ? "unknown" : (request.routeOptions.url ?? "unknown"),
      status: reply.raw.statusCode,
      durationMs: reply.elapsedTime,
    });
    done();
  });
}
