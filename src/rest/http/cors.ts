import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Route } from "../route.ts";
import { EXPOSED_HEADERS } from "./exposed-headers.ts";
import { KnownPaths } from "./known-paths.ts";

const PREFLIGHT_SECONDS = "43200";

/** Lets pages of any origin read the responses of an endpoint, without credentials. */
export function openToPages(_request: FastifyRequest, reply: FastifyReply, done: () => void): void {
  reply.header("access-control-allow-origin", "*");
  reply.header("access-control-expose-headers", EXPOSED_HEADERS);
  done();
}

/**
 * Answers the CORS preflights of the endpoints that allow any origin. `known` has all methods of their paths: pages of
 * other origins may not use those that serve pages of our own.
 */
export function servePreflights(
  server: FastifyInstance,
  routes: readonly Route[],
  known: Pick<KnownPaths, "methodsOf">,
): void {
  const open = routes.filter(({ allowAnyOrigin }) => allowAnyOrigin);
  const opened = new KnownPaths();
  for (const { url, method } of open) opened.add(url, method === "GET" ? ["GET", "HEAD"] : method);
  for (const url of new Set(open.map((route) => route.url))) {
    const answer = async (request: FastifyRequest, reply: FastifyReply) =>
      reply
        .code(204)
        .headers({
          allow: listed(known.methodsOf(request.url.split("?", 1)[0] ?? url)),
          "access-control-allow-origin": "*",
          "access-control-allow-methods": listed(opened.methodsOf(url)),
          "access-control-allow-headers":
            "Authorization, Content-Type, If-Match, If-None-Match, If-Range, If-Unmodified-Since, Range, X-Request-ID",
          "access-control-max-age": PREFLIGHT_SECONDS,
        })
        .send();
    // Before the body is read.
    server.options(url, { onRequest: answer }, answer);
  }
}

function listed(methods: readonly string[]): string {
  return [...methods, "OPTIONS"].join(", ");
}
