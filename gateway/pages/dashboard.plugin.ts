import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import fastifyStatic from "@fastify/static";
import type { FastifyInstance } from "fastify";
import type { App } from "../../src/app.ts";
import { AppError } from "../../src/kernel/errors.ts";
import { toErrorAnswer } from "../../src/rest/errors/error-body.ts";
import { requestIdsOf } from "../../src/rest/http/request-facts.ts";
import { RequestAbort } from "../http/request-abort.ts";
import { requireOwnPage } from "../http/session-cookie.ts";

/** A wallet that signs for any caller on this machine. It exists on a development network only. */
export type DevelopmentWallet = {
  readonly address: string;
  sign(text: string): Promise<string>;
  /** Sends a transaction, waits until it is mined, and returns its hash. `value` is in neuron. */
  send(transaction: { to: string; data: string; value: bigint }): Promise<string>;
  /** The accounts that can receive agent tokens with proofs by `prove`. */
  readonly receivers: readonly string[];
  /** The proofs that `prepareTransfer` and `prepareClone` take: both for each piece of data. */
  prove(to: string, dataHashes: readonly string[], signal: AbortSignal): Promise<readonly object[]>;
};

/** The build output, relative to the sources and to the compiled files. */
const BUILT = ["../../dist/dashboard", "../../dashboard"]
  .map((path) => fileURLToPath(new URL(path, import.meta.url)))
  .find((path) => existsSync(join(path, "index.html")));
const WALLET_BODY_BYTES = 16_384;
/** A transfer of a token with proofs for as many pieces of data. */
const TRANSACTION_BODY_BYTES = 262_144;
/** The most pieces of data of a transfer. */
const MAX_PROOFS = 100;
const NONCE_BYTES = 16;
/** Stands for the nonce in the built page (`gateway/dashboard/vite.config.ts`). */
const NONCE = "%CSP_NONCE%";

/** The scripts of workers, which have a policy of their own: they may compile WebAssembly, pages may not. */
const WORKER = /[\\/]assets[\\/][a-z-]+-worker-[^\\/]+\.js(\.(br|gz))?$/;

/**
 * The content security policy. Components add elements with styles of their own, which the nonce allows; no script is
 * allowed by it, and every response has another one.
 */
function policyOf(nonce: string | undefined, isWorker = false): string {
  return [
    "default-src 'none'",
    `script-src 'self'${isWorker ? " 'wasm-unsafe-eval'" : ""}`,
    `style-src 'self'${nonce === undefined ? "" : ` 'nonce-${nonce}'`}`,
    "img-src 'self' data:",
    // Audio that a page received or was given.
    "media-src blob:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}

/**
 * Serves the dashboard at `/dashboard/`: the files built by `npm run build:dashboard` (`npm ci` runs it), with a CSP
 * that allows connections to this origin only, and the endpoints its pages need besides GraphQL.
 */
export async function dashboardPlugin(
  server: FastifyInstance,
  { app, wallet }: { app: App; wallet?: DevelopmentWallet | undefined },
): Promise<void> {
  server.setErrorHandler((error, request, reply) => {
    const { status, headers, body } = toErrorAnswer(error, requestIdsOf(request).shown);
    const { code } = body.error;
    if (code === "internal_error") app.log.error({ err: error }, "a dashboard request failed");
    return reply
      .code(status)
      .headers({ "cache-control": "no-store", "x-request-id": body.request_id, ...headers })
      .send(body);
  });
  if (wallet) serveWallet(server, wallet);
  if (BUILT === undefined) {
    const missing = "The dashboard is not built. Run `npm run build:dashboard`.";
    server.get("/dashboard/*", async () => {
      throw new AppError("unavailable", missing);
    });
    return;
  }
  const page = readFileSync(join(BUILT, "index.html"), "utf8");
  await server.register(fastifyStatic, {
    root: BUILT,
    prefix: "/dashboard/",
    index: false,
    wildcard: false,
    globIgnore: ["index.html"],
    preCompressed: true,
    setHeaders(reply, path) {
      const isNamedByContent = path.includes("/assets/");
      reply.header("cache-control", isNamedByContent ? "public, max-age=31536000, immutable" : "no-cache");
      reply.header("content-security-policy", policyOf(undefined, WORKER.test(path)));
      reply.header("x-content-type-options", "nosniff");
      reply.header("referrer-policy", "no-referrer");
    },
  });
  server.get("/dashboard", async (_, reply) => reply.redirect("/dashboard/", 308));
  // A single-page app: every page is the same file, and the URL selects the page.
  server.get("/dashboard/*", async (request, reply) => {
    if (request.url.startsWith("/dashboard/assets/"))
      throw new AppError("not_found", "The dashboard has no such file.");
    const nonce = randomBytes(NONCE_BYTES).toString("base64");
    return reply
      .headers({
        "content-type": "text/html; charset=utf-8",
        "cache-control": "no-cache",
        "content-security-policy": policyOf(nonce),
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
      })
      .send(page.replaceAll(NONCE, nonce));
  });
}

/** The URL by which a request is routed: a malformed path is a page of the dashboard, which says that there is none. */
export function routableUrl(url: string): string {
  if (!url.startsWith("/dashboard/") || url.startsWith("/dashboard/assets/")) return url;
  try {
    decodeURIComponent(url.split("?", 1)[0] ?? "");
    return url;
  } catch {
    return "/dashboard/";
  }
}

function serveWallet(server: FastifyInstance, wallet: DevelopmentWallet): void {
  const path = "/dashboard/development-wallet";
  server.get(path, async () => ({ address: wallet.address, receivers: wallet.receivers }));
  const options = { bodyLimit: WALLET_BODY_BYTES };
  const schema = (properties: Readonly<Record<string, object>>) => ({
    schema: { body: { type: "object", required: Object.keys(properties), properties } },
  });
  server.post<{ Body: { text: string } }>(
    `${path}/sign`,
    { ...options, ...schema({ text: { type: "string", maxLength: 4_096 } }) },
    async (request) => {
      requireOwnPage(request);
      return { signature: await wallet.sign(request.body.text) };
    },
  );
  server.post<{ Body: { to: string; data: string; value: string } }>(
    `${path}/send`,
    {
      bodyLimit: TRANSACTION_BODY_BYTES,
      ...schema({
        to: { type: "string", pattern: "^0x[0-9a-fA-F]{40}$" },
        data: { type: "string", pattern: "^0x([0-9a-fA-F]{2})*$" },
        value: { type: "string", pattern: "^[0-9]{1,30}$" },
      }),
    },
    async (request) => {
      requireOwnPage(request);
      const { to, data, value } = request.body;
      return { hash: await wallet.send({ to, data, value: BigInt(value) }) };
    },
  );
  server.post<{ Body: { to: string; dataHashes: readonly string[] } }>(
    `${path}/prove`,
    {
      ...options,
      ...schema({
        to: { type: "string", pattern: "^0x[0-9a-fA-F]{40}$" },
        dataHashes: {
          type: "array",
          maxItems: MAX_PROOFS,
          items: { type: "string", pattern: "^0x[0-9a-fA-F]{64}$" },
        },
      }),
    },
    async (request, reply) => {
      requireOwnPage(request);
      const { to, dataHashes } = request.body;
      const { signal } = new RequestAbort(reply.raw);
      const proofs = await wallet.prove(to, dataHashes, signal).catch((error: unknown) => {
        // Nobody reads the response.
        if (signal.aborted) return [];
        throw error;
      });
      return { proofs };
    },
  );
}
