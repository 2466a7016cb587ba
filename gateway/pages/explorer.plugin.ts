import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { brotliCompress, constants } from "node:zlib";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";

const compress = promisify(brotliCompress);

/** The initial tabs: some of the examples that are tested against the schema. */
const TABS = ["account-page", "models", "balance-live"];
const EXAMPLES = new URL("../../schema/examples/", import.meta.url);

// The editor creates workers from its own source, and adds inline styles while the user types.
const POLICY = [
  "default-src 'none'",
  "script-src 'self' 'unsafe-inline' blob:",
  "worker-src blob:",
  "style-src 'unsafe-inline'",
  "img-src data:",
  "font-src data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** Serves GraphiQL to browsers at /graphql: one self-contained page that sends requests to this origin only. */
export function serveExplorer(server: FastifyInstance): void {
  let page: Promise<{ readonly plain: Buffer; readonly small: Buffer }> | undefined;
  server.addHook("onRequest", (request, reply, done) => {
    if (isBrowserAt(request, "/graphql")) send(request, reply).catch(done);
    else done();
  });
  const send = async (request: FastifyRequest, reply: FastifyReply) => {
    page ??= render();
    const { plain, small } = await page;
    const takesBrotli = /\bbr\b/.test(request.headers["accept-encoding"] ?? "");
    if (takesBrotli) reply.header("content-encoding", "br");
    return reply
      .headers({
        "content-type": "text/html; charset=utf-8",
        "content-security-policy": POLICY,
        "cache-control": "no-cache",
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
        vary: "accept, accept-encoding",
      })
      .send(takesBrotli ? small : plain);
  };
}

/** Whether this is a page navigation in a browser rather than a request of a program. */
export function isBrowserAt({ method, url, headers }: FastifyRequest, path?: string): boolean {
  if (method !== "GET" && method !== "HEAD") return false;
  const [pathname, query = ""] = url.split("?");
  if (path !== undefined && (pathname !== path || /(?:^|&)(?:query|extensions)=/.test(query))) return false;
  return /^[^;,]*text\/html/.test(headers.accept ?? "");
}

async function render() {
  // Imported by a computed name, since its types would add the DOM types to the whole program.
  const name = "@graphql-yoga/render-graphiql";
  const { renderGraphiQL } = (await import(name)) as { renderGraphiQL(options: object): string };
  const tabs = TABS.map((name) => readFile(new URL(`${name}.graphql`, EXAMPLES), "utf8"));
  const defaultTabs = (await Promise.all(tabs)).map((query) => ({ query }));
  const plain = Buffer.from(
    renderGraphiQL({
      title: "zerograph explorer",
      endpoint: "/graphql",
      subscriptionsProtocol: "WS",
      credentials: "same-origin",
      shouldPersistHeaders: false,
      defaultTabs,
    }),
  );
  const small = await compress(plain, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } });
  return { plain, small };
}
