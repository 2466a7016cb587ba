import type { IncomingMessage } from "node:http";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { App } from "../../src/app.ts";
import { AppError } from "../../src/kernel/errors.ts";
import { authorizationHeaderOf } from "../../src/rest/http/headers.ts";

const NAME = "zerograph_session";
const PATH = "/dashboard/session";
/** What pages of the dashboard read over REST: a receipt, and the files of batches. */
const READ = /^\/v1\/(?:receipts\/[^/?]+$|files(?:\/[^/?]+(?:\/content)?)?(?:\?|$))/;
const FILE = /^\/v1\/files\/[^/?]+$/;
const SESSION_SECONDS = 12 * 3_600;

/**
 * Stores a wallet session for pages of this origin where no script can read it: the page exchanges its token for a
 * cookie at `/dashboard/session`, and the cookie replaces the token at `/graphql`, for reading a receipt, and for listing,
 * reading and deleting files of batches. The cookie is only accepted from pages of this origin, so that no other site can
 * use it; an `Authorization` header takes precedence.
 */
export function serveSessionCookie(server: FastifyInstance, app: App): void {
  server.addHook("onRequest", ({ raw }, _reply, done) => {
    applyCookie(raw);
    done();
  });
  server.server.prependListener("upgrade", applyCookie);
  server.post(PATH, async (request, reply) => {
    requireOwnPage(request);
    const authorization = authorizationHeaderOf(request.raw);
    const principal = await app.authenticate(authorization);
    if (principal.kind !== "wallet-session")
      throw new AppError("insufficient_scope", "Only a wallet session can be stored here.");
    return reply
      .header("set-cookie", cookie((authorization ?? "").replace(/^\S+\s+/, ""), SESSION_SECONDS, request))
      .code(204)
      .send();
  });
  server.delete(PATH, async (request, reply) => {
    requireOwnPage(request);
    return reply
      .header("set-cookie", cookie("", 0, request))
      .code(204)
      .send();
  });
}

/** Throws `insufficient_scope` unless the request comes from a page of this origin. */
export function requireOwnPage(request: FastifyRequest): void {
  if (!isOwnPage(request.raw))
    throw new AppError("insufficient_scope", "Only pages of this origin may send this request.");
}

function applyCookie(request: IncomingMessage): void {
  const { headers, url = "" } = request;
  if (headers.authorization !== undefined || headers.cookie === undefined) return;
  if (!isUsedByPages(request.method, url) || !isOwnPage(request)) return;
  const token = new RegExp(`(?:^|; )${NAME}=([A-Za-z0-9_-]+)`).exec(headers.cookie)?.[1];
  if (token !== undefined) headers.authorization = `Bearer ${token}`;
}

function isUsedByPages(method: string | undefined, url: string): boolean {
  if (/^\/graphql(?:[/?]|$)/.test(url)) return true;
  return method === "GET" ? READ.test(url) : method === "DELETE" && FILE.test(url);
}

/** Browsers send the page's `Origin`, except for same-origin reads; those have `Sec-Fetch-Site` instead. */
function isOwnPage({ headers }: IncomingMessage): boolean {
  const { origin, host } = headers;
  if (origin === undefined) return headers["sec-fetch-site"] === "same-origin";
  return host !== undefined && URL.canParse(origin) && new URL(origin).host === host;
}

function cookie(token: string, seconds: number, { headers }: FastifyRequest): string {
  const secure = headers.origin?.startsWith("https:") ? "; Secure" : "";
  return `${NAME}=${token}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${seconds}${secure}`;
}
