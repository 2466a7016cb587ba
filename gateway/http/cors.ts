import type { IncomingHttpHeaders } from "node:http";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { AppError } from "../../src/kernel/errors.ts";
import { EXPOSED_HEADERS } from "../../src/rest/http/exposed-headers.ts";
import type { KnownPaths } from "../../src/rest/http/known-paths.ts";
import { routingHeaderNames } from "../../src/rest/routing-headers.ts";
import { TAG_HEADER } from "../../src/rest/tag-header.ts";

const PREFLIGHT_SECONDS = "600";
const METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE";
const HEADERS = [
  "Accept",
  "Authorization",
  "Content-Type",
  "Idempotency-Key",
  "Last-Event-ID",
  "X-Api-Key",
  "X-Request-ID",
  "X-Session-Id",
  TAG_HEADER,
  "Apollo-Require-Preflight",
  "X-GraphQL-Event-Stream-Token",
  // Sent by the official SDKs from browsers.
  "Anthropic-Beta",
  "Anthropic-Dangerous-Direct-Browser-Access",
  "Anthropic-Version",
  "OpenAI-Organization",
  "OpenAI-Project",
  ...["Arch", "Helper-Method", "Lang", "OS", "Package-Version", "Retry-Count", "Runtime"].map(stainless),
  ...["Runtime-Version", "Timeout"].map(stainless),
] as const;

function stainless(name: string): string {
  return `X-Stainless-${name}`;
}

type Pages = {
  readonly origins: readonly string[] | undefined;
  readonly isDevnet: boolean;
  /** The words in the routing header names. */
  readonly platformWords: readonly string[];
  readonly known: KnownPaths;
  /** Answers a request to an unknown path. */
  answerUnknown(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply>;
};

/**
 * Lets pages of these origins read responses, with a credential that they send themselves: never with cookies.
 * Origins must match exactly. On a development network, pages of this machine are allowed too. (Files are open to
 * every page, and set their own headers.)
 */
export function allowPages(server: FastifyInstance, pages: Pages): void {
  const { origins, isDevnet, platformWords } = pages;
  const allowedHeaders = [
    ...HEADERS,
    ...routingHeaderNames(platformWords),
    ...platformWords.map((word) => `X-${word}-Cache`),
  ].join(", ");
  const listed = new Set(origins?.map((origin) => new URL(origin).origin));
  const isAllowed = (origin: string) =>
    listed.has(origin) || (isDevnet && origins === undefined && isLocal(origin));
  server.addHook("onRequest", ({ method, headers }, { raw }, done) => {
    const { origin } = headers;
    if (origin === undefined) return done();
    raw.setHeader("vary", "origin");
    if (!isAllowed(origin)) return done();
    raw.setHeader("access-control-allow-origin", origin);
    raw.setHeader("access-control-expose-headers", EXPOSED_HEADERS);
    if (!isPreflight(method, headers)) return done();
    raw.setHeader("access-control-allow-methods", METHODS);
    raw.setHeader("access-control-allow-headers", allowedHeaders);
    raw.setHeader("access-control-max-age", PREFLIGHT_SECONDS);
    done();
  });
  // A route that sets its own `Vary` would overwrite ours, and a stream sends its headers without this hook.
  server.addHook("onSend", ({ headers }, reply, payload, done) => {
    if (headers.origin !== undefined) reply.header("vary", withOrigin(reply.getHeader("vary")));
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

function isLocal(origin: string): boolean {
  return /^http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/.test(origin);
}
