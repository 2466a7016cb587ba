import type { FastifyInstance } from "fastify";

const PREFLIGHT_SECONDS = "600";
const METHODS = "GET, HEAD, POST, PATCH, DELETE";
const HEADERS = [
  "Accept",
  "Authorization",
  "Content-Type",
  "Idempotency-Key",
  "Last-Event-ID",
  "X-Request-ID",
  "Apollo-Require-Preflight",
  "X-GraphQL-Event-Stream-Token",
].join(", ");
const EXPOSED = [
  "Idempotent-Replayed",
  "Retry-After",
  "X-RateLimit-Limit",
  "X-RateLimit-Remaining",
  "X-RateLimit-Reset",
  "X-Request-ID",
].join(", ");

/**
 * Lets pages of these origins read answers, with a credential that they send themselves: never with cookies, and no
 * other origin, however alike it looks. On a development network pages of this machine may as well. (Files are open to
 * every page, and say so themselves.)
 */
export function allowPages(
  server: FastifyInstance,
  { origins, isDevnet }: { readonly origins: readonly string[] | undefined; readonly isDevnet: boolean },
): void {
  const listed = new Set(origins?.map((origin) => new URL(origin).origin));
  const isAllowed = (origin: string) =>
    listed.has(origin) || (isDevnet && origins === undefined && isLocal(origin));
  server.addHook("onRequest", async ({ method, headers }, { raw }) => {
    const { origin } = headers;
    if (origin === undefined) return;
    raw.setHeader("vary", "origin");
    if (!isAllowed(origin)) return;
    raw.setHeader("access-control-allow-origin", origin);
    raw.setHeader("access-control-expose-headers", EXPOSED);
    if (method !== "OPTIONS" || headers["access-control-request-method"] === undefined) return;
    raw.setHeader("access-control-allow-methods", METHODS);
    raw.setHeader("access-control-allow-headers", HEADERS);
    raw.setHeader("access-control-max-age", PREFLIGHT_SECONDS);
  });
  // A route that varies by other headers would take ours away; a stream is on its way without asking again.
  server.addHook("onSend", async ({ headers }, reply) => {
    if (headers.origin === undefined) return;
    const vary = reply.getHeader("vary");
    reply.header("vary", typeof vary === "string" && vary !== "" ? `${vary}, origin` : "origin");
  });
  // Below the routes that answer it themselves.
  server.options("/*", async (_, reply) => reply.code(204).send());
}

function isLocal(origin: string): boolean {
  return /^http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/.test(origin);
}
