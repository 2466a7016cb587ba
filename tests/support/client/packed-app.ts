import { execFile } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { Duplex } from "node:stream";
import { promisify } from "node:util";
import { build, preview } from "vite";
import type { OnEnd } from "../servers/database.ts";
import { newFolder } from "../servers/process.ts";

const run = promisify(execFile);
const PACKAGE = resolve("packages/client");
const SOURCE = resolve("tests/client/app");

/** The manifest of a package, as far as it is read here. */
type Manifest = {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
};

/** An empty project with the packed client in it. */
export type PackedApp = {
  readonly folder: string;
  /** The files of the tarball. */
  readonly files: readonly string[];
  /** Runs a module of the project with Node; resolves with the JSON that it prints. */
  run(module: string, env?: Readonly<Record<string, string>>, ...words: readonly string[]): Promise<unknown>;
};

/**
 * Packs the client and installs the tarball into a new project: beside it are what its manifest names, as npm would
 * install it, and `more`, which the project itself uses. Nothing else can be imported, as the project is elsewhere.
 */
export async function installPacked(onEnd: OnEnd, more: readonly string[]): Promise<PackedApp> {
  const folder = newFolder(onEnd);
  const { stdout } = await run("npm", ["pack", PACKAGE, "--json", "--pack-destination", folder], {
    cwd: folder,
  });
  const [packed] = JSON.parse(stdout.slice(stdout.indexOf("[\n"))) as [
    { readonly filename: string; readonly files: readonly { readonly path: string }[] },
  ];
  const target = join(folder, "node_modules/@zerograph/client");
  mkdirSync(target, { recursive: true });
  await run("tar", ["-xzf", join(folder, packed.filename), "-C", target, "--strip-components=1"]);
  const manifest = JSON.parse(readFileSync(join(target, "package.json"), "utf8")) as Manifest;
  const names = [manifest.dependencies, manifest.peerDependencies].flatMap((list) => Object.keys(list));
  for (const name of new Set([...names, ...more])) {
    const link = join(folder, "node_modules", name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(resolve("node_modules", name), link);
  }
  cpSync(SOURCE, folder, { recursive: true });
  return {
    folder,
    files: packed.files.map(({ path }) => path),
    async run(module, env = {}, ...words) {
      const { PATH, TMPDIR } = process.env;
      const { stdout: printed } = await run(resolve("scripts/node"), [join(folder, module), ...words], {
        cwd: folder,
        env: { PATH, TMPDIR, NODE_ENV: "production", ...env },
      });
      return JSON.parse(printed);
    },
  };
}

/** The page of the project, served with a proxy to the gateway that adds a key. */
export type ServedApp = {
  readonly origin: string;
  /** How many sockets were opened so far. */
  readonly opened: () => number;
  /** Destroys every open socket. Returns how many there were. */
  cut(): number;
};

/** Builds the page with React's development code, whose strict mode mounts everything twice, and serves it. */
export async function serveApp(
  folder: string,
  gateway: { readonly origin: string; readonly secret: string },
  onEnd: OnEnd,
): Promise<ServedApp> {
  const { NODE_ENV } = process.env;
  const proxy = { target: gateway.origin, ws: true, headers: { authorization: `Bearer ${gateway.secret}` } };
  const options = { root: folder, configFile: false, logLevel: "error", mode: "development" } as const;
  Object.assign(process.env, { NODE_ENV: "development" });
  try {
    await build({ ...options, build: { minify: false } });
  } finally {
    Object.assign(process.env, { NODE_ENV });
  }
  const server = await preview({
    ...options,
    preview: { host: "127.0.0.1", port: 0, proxy: { "/graphql": proxy } },
  });
  const sockets = new Set<Duplex>();
  let count = 0;
  server.httpServer.on("upgrade", (_, socket: Duplex) => {
    count++;
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  const cut = () => {
    const { size } = sockets;
    for (const socket of sockets) socket.destroy();
    return size;
  };
  onEnd(async () => {
    cut();
    await server.close();
  });
  return { origin: server.resolvedUrls?.local[0]?.replace(/\/$/, "") ?? "", opened: () => count, cut };
}
