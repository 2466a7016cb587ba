import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import fastifyStatic from "@fastify/static";
import type { FastifyInstance } from "fastify";
import type { App } from "../../src/app.ts";
import { AppError } from "../../src/kernel/errors.ts";
import { toErrorAnswer } from "../../src/rest/errors/error-body.ts";
import { requestIdsOf } from "../../src/rest/http/request-facts.ts";
import { requireOwnPage } from "../http/session-cookie.ts";

/** A wallet that signs for whoever asks on this machine. It exists on a development network alone. */
export type DevelopmentWallet = {
  readonly address: string;
  sign(text: string): Promise<string>;
  /** Sends a transaction, waits until it is mined, and answers its hash. `value` is in neuron. */
  send(transaction: { to: string; data: string; value: bigint }): Promise<string>;
};

/** Where it is built to, seen from the sources and from what they were compiled to. */
const BUILT = ["../../dist/dashboard", "../../dashboard"]
  .map((path) => fileURLToPath(new URL(path, import.meta.url)))
  .find((path) => existsSync(path));
const WALLET_BODY_BYTES = 16_384;
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/**
 * The dashboard at `/dashboard/`: the files that `npm run build:dashboard` made (`npm ci` does so), under a policy that
 * lets them speak to this origin only, and what its pages need besides the graph.
 */
export async function dashboardPlugin(
  server: FastifyInstance,
  { app, wallet }: { app: App; wallet?: DevelopmentWallet | undefined },
): Promise<void> {
  server.setErrorHandler((error, request, reply) => {
    const { status, headers, body } = toErrorAnswer(error, requestIdsOf(request).shown);
    const { code } = body.error;
    if (code === "internal_error") app.log.error({ err: error }, "a request of the dashboard failed");
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
  await server.register(fastifyStatic, {
    root: BUILT,
    prefix: "/dashboard/",
    index: false,
    wildcard: false,
    preCompressed: true,
    setHeaders(reply, path) {
      const isNamedByContent = path.includes("/assets/");
      reply.header("cache-control", isNamedByContent ? "public, max-age=31536000, immutable" : "no-cache");
      reply.header("content-security-policy", POLICY);
      reply.header("x-content-type-options", "nosniff");
      reply.header("referrer-policy", "no-referrer");
    },
  });
  server.get("/dashboard", async (_, reply) => reply.redirect("/dashboard/", 308));
  // Every page of it is one file: the address says which page it is to show.
  server.get("/dashboard/*", async (request, reply) => {
    if (request.url.startsWith("/dashboard/assets/"))
      throw new AppError("not_found", "There is no such file of the dashboard.");
    return reply.sendFile("index.html");
  });
}

function serveWallet(server: FastifyInstance, wallet: DevelopmentWallet): void {
  const path = "/dashboard/development-wallet";
  server.get(path, async () => ({ address: wallet.address }));
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
      ...options,
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
}
