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

/** Answers the CORS preflights of the endpoints that allow any origin. */
export function servePreflights(server: FastifyInstance, routes: readonly Route[]): void {
  const open = routes.filter(({ allowAnyOrigin }) => allowAnyOrigin);
  const known = new KnownPaths();
  for (const { url, method } of open) known.add(url, method === "GET" ? ["GET", "HEAD"] : method);
  for (const url of new Set(open.map((route) => route.url))) {
    const allowed = [...known.methodsOf(url), "OPTIONS"].join(", ");
    const answer = async (_request: FastifyRequest, reply: FastifyReply) =>
      reply
        .code(204)
        .headers({
          allow: allowed,
          "access-control-allow-origin": "*",
          "access-control-allow-methods": allowed,
          "access-control-allow-headers":
            "Authorization, Content-Type, If-Match, If-None-Match, If-Range, If-Unmodified-Since, Range, X-Request-ID",
          "access-control-max-age": PREFLIGHT_SECONDS,
        })
        .send();
    // Before the body is read.
    server.options(url, { onRequest: answer }, answer);
  }
}
