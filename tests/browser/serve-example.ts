import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Duplex } from "node:stream";
import { build, type PreviewServer, preview } from "vite";
import { expect } from "vitest";
import type { OnEnd } from "../support/servers/database.ts";
import { newFolder } from "../support/servers/process.ts";

const CLIENT = resolve("packages/client/src");

/** The product that a page asks, with which key; in development the libraries of the page report their misuse. */
type Served = {
  readonly origin: string;
  readonly key: string;
  readonly mode?: "development" | "production";
};

/** Builds the page of an example, and serves it as `vite preview` does: with the proxy that adds the key. */
export async function serveExample(name: string, { origin, key, mode = "production" }: Served, onEnd: OnEnd) {
  const outDir = newFolder(onEnd);
  const { NODE_ENV } = process.env;
  Object.assign(process.env, { ZEROGRAPH_URL: origin, ZEROGRAPH_KEY: key, NODE_ENV: mode });
  const options = {
    configFile: resolve("examples", name, "vite.config.ts"),
    logLevel: "error",
    mode,
    build: { outDir },
    // `tests/browser/client.test.ts` installs the package as its users do.
    resolve: {
      alias: [
        { find: /^@zerograph\/client$/, replacement: join(CLIENT, "index.ts") },
        { find: /^@zerograph\/client\/(\w+)$/, replacement: join(CLIENT, "$1.ts") },
      ],
    },
  } as const;
  let server: PreviewServer;
  try {
    await build(options);
    server = await preview({ ...options, preview: { host: "127.0.0.1", port: 0 } });
  } finally {
    delete process.env.ZEROGRAPH_URL;
    delete process.env.ZEROGRAPH_KEY;
    process.env.NODE_ENV = NODE_ENV;
  }
  const sockets = new Set<Duplex>();
  server.httpServer.on("upgrade", (_, socket: Duplex) => void sockets.add(socket));
  onEnd(async () => {
    for (const socket of sockets) socket.destroy();
    await server.close();
  });
  const assets = readdirSync(join(outDir, "assets"));
  return {
    origin: server.resolvedUrls?.local[0]?.replace(/\/$/, "") ?? "",
    text: assets.map((name) => readFileSync(join(outDir, "assets", name), "utf8")).join(""),
    async breakSockets() {
      expect(sockets.size).toBe(1);
      for (const socket of sockets) socket.destroy();
      sockets.clear();
    },
  };
}
