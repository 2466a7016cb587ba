import { type Context, context } from "@opentelemetry/api";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { Slot } from "../../kernel/slot.ts";
import { contextOf, isTracing, type OpenSpan, openSpan } from "../../kernel/tracing.ts";

/** Health endpoints, which monitoring polls every few seconds. */
const QUIET: ReadonlySet<string> = new Set(["/healthz", "/readyz"]);

/**
 * Creates a span for every request of a server, named by its route, never by the requested path. A request continues
 * the trace in its headers if `isTrusted` allows it; otherwise it starts a new one, so that clients cannot flood our
 * traces. Without tracing no hook is installed.
 */
export function traceRequests(
  server: FastifyInstance,
  isTrusted: (request: FastifyRequest) => boolean,
): void {
  if (!isTracing()) return;
  const spans = new Slot<FastifyRequest, OpenSpan>();
  server.addHook("onRequest", (request, _reply, done) => {
    const { method } = request;
    const route = request.is404 ? "unknown" : (request.routeOptions.url ?? "unknown");
    const parent: Context = contextOf(isTrusted(request) ? request.headers : undefined);
    const facts = () => ({ "http.request.method": method, "http.route": route });
    const span = QUIET.has(route)
      ? undefined
      : openSpan(`${method} ${route}`, { kind: "server", facts }, parent);
    if (!span) return context.with(parent, done);
    spans.set(request, span);
    span.run(done);
  });
  // Reading a body loses the async context in which the request began.
  server.addHook("preValidation", (request, _reply, done) => {
    const span = spans.get(request);
    if (span) span.run(done);
    else done();
  });
  server.addHook("onResponse", async (request, reply) => {
    const span = spans.get(request);
    const status = reply.raw.statusCode;
    span?.set({ "http.response.status_code": status });
    if (status >= 500) span?.fail(String(status));
    span?.end();
  });
  server.addHook("onRequestAbort", async (request) => {
    const span = spans.get(request);
    span?.fail("aborted");
  });
}
