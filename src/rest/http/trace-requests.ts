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
  server.addHook("onRequest", (request, reply, done) => {
    const { method } = request;
    const route = request.is404 ? "unknown" : (request.routeOptions.url ?? "unknown");
    const parent: Context = contextOf(isTrusted(request) ? request.headers : undefined);
    const facts = () => ({ "http.request.method": method, "http.route": route });
    const span = QUIET.has(route)
      ? undefined
      : openSpan(`${method} ${route}`, { kind: "server", facts }, parent);
    if (!span) return context.with(parent, done);
    spans.set(request, span);
    // Fastify has no hook for the end of a response that is written directly, such as a stream of events.
    const { raw } = reply;
    raw.once("close", () => {
      span.set({ "http.response.status_code": raw.statusCode });
      if (!raw.writableFinished) span.fail("aborted");
      else if (raw.statusCode >= 500) span.fail(String(raw.statusCode));
      span.end();
    });
    span.run(done);
  });
  // Reading a body loses the async context in which the request began.
  server.addHook("preValidation", (request, _reply, done) => {
    const span = spans.get(request);
    if (span) span.run(done);
    else done();
  });
}
