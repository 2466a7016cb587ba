import type { IncomingHttpHeaders } from "node:http";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { AppError } from "../../src/kernel/errors.ts";
import { isLocalOrigin } from "../../src/kernel/text/local-origin.ts";
import { EXPOSED_HEADERS } from "../../src/rest/http/exposed-headers.ts";
import type { KnownPaths } from "../../src/rest/http/known-paths.ts";

const PREFLIGHT_SECONDS = "600";
const METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE";
/** The names of headers, as a preflight lists them. */
const NAMES = /^[\w!#$%&'*+.^`|~-]+(?:\s*,\s*[\w!#$%&'*+.^`|~-]+)*$/;

type Pages = {
  readonly origins: readonly string[] | undefined;
  readonly isDevnet: boolean;
  readonly known: KnownPaths;
  /** Answers a request to an unknown path. */
  answerUnknown(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply>;
};

/**
 * Lets pages of these origins read responses, with a credential that they send themselves: never with cookies.
 * Origins must match exactly. On a development network, pages of this machine are allowed too. Such a page may send
 * every header: SDKs add their own with each release. (Files are open to every page, and set their own headers.)
 */
export function allowPages(server: FastifyInstance, pages: Pages): void {
  const { origins, isDevnet } = pages;
  const listed = new Set(origins?.map((origin) => new URL(origin).origin));
  const allowsLocal = isDevnet && origins === undefined;
  const isAllowed = (origin: string) => listed.has(origin) || (allowsLocal && isLocalOrigin(origin));
  const isOn = listed.size > 0 || allowsLocal;
  server.addHook("onRequest", ({ method, headers }, { raw }, done) => {
    const { origin } = headers;
    // Also without an origin: a cache must not give that answer to a page.
    if (isOn) raw.setHeader("vary", "origin");
    if (origin === undefined || !isAllowed(origin)) return done();
    raw.setHeader("access-control-allow-origin", origin);
    raw.setHeader("access-control-expose-headers", EXPOSED_HEADERS);
    if (!isPreflight(method, headers)) return done();
    const wanted = headers["access-control-request-headers"];
    raw.setHeader("access-control-allow-methods", METHODS);
    if (wanted !== undefined && NAMES.test(wanted)) raw.setHeader("access-control-allow-headers", wanted);
    raw.setHeader("access-control-max-age", PREFLIGHT_SECONDS);
    done();
  });
  // A route that sets its own `Vary` would overwrite ours, and a stream sends its headers without this hook.
  server.addHook("onSend", (_request, reply, payload, done) => {
    if (reply.getHeader("access-control-allow-origin") === "*") reply.raw.removeHeader("vary");
    else if (isOn) reply.header("vary", withOrigin(reply.getHeader("vary")));
    done(null, payload);
  });
  // Has lower precedence than routes with their own OPTIONS handler.
  const answer = async (request: FastifyRequest, reply: FastifyReply) => {
    const allowed = pages.known.methodsOf(request.url.split("?", 1)[0] ?? "/");
    if (allowed.length === 0) return pages.answerUnknown(request, reply);
    if (isPreflight(request.method, request.headers) && !isAllowed(request.headers.origin ?? ""))
      throw new AppError("access_denied", "Pages of this origin may not call this server.");
    return reply
      .code(204)
      .header("allow", [...allowed, "OPTIONS"].join(", "))
      .send();
  };
  // Before the body is read: it is not needed, and an empty body with a declared type would be refused.
  server.options("/*", { onRequest: answer }, answer);
}

/** Whether this is a CORS preflight request. */
function isPreflight(method: string, headers: IncomingHttpHeaders): boolean {
  const { origin, "access-control-request-method": wanted } = headers;
  return method === "OPTIONS" && origin !== undefined && wanted !== undefined;
}

/** Adds the origin to a `Vary` value, once. */
function withOrigin(vary: number | string | readonly string[] | undefined): string {
  const names = String(vary ?? "")
    .split(",")
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== "");
  return [...new Set([...names, "origin"])].join(", ");
}
