import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";

/**
 * The routers of others live in `.cache/peers`, by a manifest and a lock of their own: some are under the Elastic
 * licence and none belongs to the product, so none may come into its lock file.
 */
const FOLDER = resolve(".cache/peers");
const PACKAGES = resolve("tests/peers/packages");
const FILES = ["package.json", "package-lock.json"] as const;
const INSTALL_MS = 600_000;
/** Names are looked up from where the importing file is, so one has to be there. */
const LOADER = "load.mjs";

/** Installs the peers, unless they are there as the lock says. False, and one loud line, where npm cannot bring them. */
export async function installPeers(): Promise<boolean> {
  const wanted = createHash("sha256");
  for (const file of FILES) wanted.update(readFileSync(join(PACKAGES, file)));
  const stamp = wanted.digest("hex");
  const stampFile = join(FOLDER, "installed");
  if (existsSync(stampFile) && readFileSync(stampFile, "utf8") === stamp) return true;
  mkdirSync(FOLDER, { recursive: true });
  // An installation that fails leaves nothing behind.
  rmSync(stampFile, { force: true });
  for (const file of FILES) cpSync(join(PACKAGES, file), join(FOLDER, file));
  try {
    const flags = ["--ignore-scripts", "--fetch-retries=1", "--no-audit", "--no-fund", "--loglevel=error"];
    await promisify(execFile)("npm", ["ci", ...flags], { cwd: FOLDER, timeout: INSTALL_MS });
  } catch (error) {
    if (process.env.REQUIRE_ALL) throw error;
    console.error(`SKIPPED: npm cannot install the routers of others (${String(error).split("\n")[0]}).`);
    return false;
  }
  writeFileSync(join(FOLDER, LOADER), "export const load = (specifier) => import(specifier);\n");
  writeFileSync(stampFile, stamp);
  return true;
}

/** Loads a module of a peer. What it is like is for the caller to say: its types are not installed for us. */
export async function importPeer<T>(specifier: string): Promise<T> {
  const { load } = (await import(pathToFileURL(join(FOLDER, LOADER)).href)) as Loader;
  return (await load(specifier)) as T;
}

type Loader = { load(specifier: string): Promise<unknown> };
