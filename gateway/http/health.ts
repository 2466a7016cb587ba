import type { FastifyInstance } from "fastify";
import { AppError } from "../../src/kernel/errors.ts";
import type { Readiness } from "../../src/metrics/readiness.ts";
import { failureHeaders } from "../../src/rest/errors/error-body.ts";

/** `/healthz`: the process is alive. `/readyz`: it can serve, else 503, with the state of each component. */
export function serveHealth(server: FastifyInstance, readiness: () => Promise<Readiness>): void {
  server.get("/healthz", async (_request, reply) => {
    reply.header("cache-control", "no-store");
    return { status: "ok" };
  });
  server.get("/readyz", async (_request, reply) => {
    const { ready, parts } = await readiness();
    reply.code(ready ? 200 : 503).header("cache-control", "no-store");
    if (!ready) reply.headers(failureHeaders(new AppError("unavailable", "")));
    return { status: ready ? "ready" : "not ready", parts };
  });
}
