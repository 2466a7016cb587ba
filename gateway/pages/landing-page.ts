import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { AppError } from "../../src/kernel/errors.ts";
import { failureHeaders } from "../../src/rest/errors/error-body.ts";
import { escapeHtml } from "./escape-html.ts";
import { isBrowserAt } from "./explorer.plugin.ts";

const POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'";

/**
 * Sends a browser at an unknown URL a page that links to the existing pages. Returns undefined for programs, which
 * get `not_found`. `hasExplorer` says whether GraphQL has a page.
 */
export function sendLandingPage(
  request: FastifyRequest,
  reply: FastifyReply,
  hasExplorer: boolean,
): FastifyReply | undefined {
  const isOfPrograms = /^\/(?:v1|file|files|node)(?:[/?]|$)/.test(request.url);
  if (isOfPrograms || !isBrowserAt(request)) return undefined;
  const { host = "127.0.0.1" } = request.headers;
  const origin = `${request.protocol}://${escapeHtml(host)}`;
  if (request.url !== "/") reply.code(404).headers(failureHeaders(new AppError("not_found", "")));
  return reply
    .headers({ "content-security-policy": POLICY, "x-content-type-options": "nosniff", vary: "accept" })
    .type("text/html; charset=utf-8")
    .send(page(origin, request.url === "/", hasExplorer));
}

/** Answers a browser at `/graphql` where the explorer is off: the endpoint is for programs only. */
export function serveNoExplorer(server: FastifyInstance): void {
  server.addHook("onRequest", (request, reply, done) => {
    if (!isBrowserAt(request, "/graphql") || !sendLandingPage(request, reply, false)) done();
  });
}

const EXPLORER =
  '<li><a href="/graphql">Explorer</a>The GraphQL API: documentation, queries and subscriptions</li>';

function page(origin: string, isRoot: boolean, hasExplorer: boolean): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>zerograph</title>
<style>
:root { color-scheme: light dark; --line: light-dark(#dfe3ea, #31363f); --quiet: light-dark(#5a6272, #a3abbb); --accent: light-dark(#3049c5, #8ea2ff); font: 16px/1.6 system-ui, sans-serif; background: light-dark(#f7f8fa, #14161b); color: light-dark(#1a1d24, #e8eaf0) }
main { max-width: 46rem; margin: 12vh auto; padding: 0 1rem }
ul { display: grid; grid-template-columns: repeat(auto-fit, minmax(12rem, 1fr)); gap: 1rem; padding: 0; list-style: none }
li, pre { background: light-dark(#fff, #1c1f26); border: 1px solid var(--line); border-radius: 10px; padding: 1rem; margin: 0 }
li a { display: block; font-weight: 600; color: var(--accent) }
li, p { color: var(--quiet) }
pre { overflow-x: auto; font: 0.85rem/1.6 ui-monospace, monospace }
</style>
<main>
<h1>${isRoot ? "zerograph" : "Page not found"}</h1>
<ul>
<li><a href="/dashboard/">Dashboard</a>Keys, money, requests, jobs and a playground</li>
${hasExplorer ? EXPLORER : ""}
<li><a href="/docs/">REST</a>Every path, from its OpenAPI description</li>
</ul>
<p>A first call, with a key from the dashboard:</p>
<pre tabindex="0">curl -N ${origin}/v1/chat/completions \\
  -H 'Authorization: Bearer sk-...' \\
  -H 'Content-Type: application/json' \\
  -d '{"model":"...","stream":true,
       "messages":[{"role":"user","content":"Tell me about the sea"}]}'</pre>
</main>
</html>
`;
}
