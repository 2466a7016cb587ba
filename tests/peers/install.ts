import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";

/** Packages of others, installed outside `node_modules`. */
export type PeerPackages = {
  /** What they are, for messages. */
  readonly what: string;
  /** The folder with their package.json and package-lock.json. */
  readonly manifest: string;
  /** Where they are installed. */
  readonly folder: string;
  /** Further flags for npm. */
  readonly flags?: readonly string[];
};

/**
 * The federation routers that we compare with. They have a manifest and a lock file of their own: some are under the
 * Elastic licence and none belongs to the product, so none may come into its lock file.
 */
export const ROUTERS: PeerPackages = {
  what: "the federation routers to compare with",
  manifest: resolve("tests/peers/packages"),
  folder: resolve(".cache/peers"),
};
const FILES = ["package.json", "package-lock.json"] as const;
const FLAGS = ["--ignore-scripts", "--fetch-retries=1", "--no-audit", "--no-fund", "--loglevel=error"];
const INSTALL_MS = 600_000;
/** Modules are resolved from the importing file's folder, so a file has to exist there. */
const LOADER = "load.mjs";

/**
 * Installs packages with the caller's npm settings, unless they are there as their lock file says. Returns false and
 * prints a line when npm cannot install them; with `REQUIRE_ALL` it throws.
 */
export async function installPeers({ what, manifest, folder, flags = [] }: PeerPackages): Promise<boolean> {
  const wanted = createHash("sha256");
  for (const file of FILES) wanted.update(readFileSync(join(manifest, file)));
  const stamp = wanted.digest("hex");
  const stampFile = join(folder, "installed");
  if (existsSync(stampFile) && readFileSync(stampFile, "utf8") === stamp) return true;
  mkdirSync(folder, { recursive: true });
  // A failed installation leaves nothing behind.
  rmSync(stampFile, { force: true });
  for (const file of FILES) cpSync(join(manifest, file), join(folder, file));
  console.log(`Installing ${what} ...`);
  try {
    await promisify(execFile)("npm", ["ci", ...FLAGS, ...flags], { cwd: folder, timeout: INSTALL_MS });
  } catch (error) {
    if (process.env.REQUIRE_ALL) throw error;
    console.error(`SKIPPED: npm cannot install ${what} (${String(error).split("\n")[0]}).`);
    return false;
  }
  writeFileSync(join(folder, LOADER), "export const load = (specifier) => import(specifier);\n");
  writeFileSync(stampFile, stamp);
  return true;
}

/** Loads a module of an installed router. The caller states its type, because the packages' types are not ours. */
export async function importPeer<T>(specifier: string): Promise<T> {
  const { load } = (await import(pathToFileURL(join(ROUTERS.folder, LOADER)).href)) as Loader;
  return (await load(specifier)) as T;
}

type Loader = { load(specifier: string): Promise<unknown> };
