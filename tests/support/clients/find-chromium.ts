import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);
const INSTALL_MS = 600_000;
/**
 * The headless shell first: `chromium --headless` is the whole browser, which draws its own toolbar in a process of
 * its own for each window. That took 0.7 to 0.9 s of processor time per page, more than many a page itself.
 */
const PROGRAMS = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];
/** Test files run side by side, and apt-get does not wait for another: the first one installs. */
const INSTALL = `
exec 9>"\${TMPDIR:-/tmp}/zerograph-chromium.lock"; flock 9
command -v chromium-headless-shell || command -v chromium && exit
get() { apt-get -qq -y -o Acquire::http::Timeout=20 -o DPkg::Lock::Timeout=300 "$@" >&2; }
get update || true
get install --no-install-recommends chromium-headless-shell || get install --no-install-recommends chromium`;

/**
 * A Chromium of this machine: CHROMIUM, then PATH, then the distribution's package. Throws when there is
 * none.
 */
export async function findChromium(): Promise<string> {
  const asked = process.env.CHROMIUM;
  const found = (asked && (await pathOf(asked))) || (await firstOf(PROGRAMS));
  if (found) return found;
  try {
    const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
    await run("sh", ["-c", INSTALL], { timeout: INSTALL_MS, env });
  } catch (cause) {
    throw new Error("no chromium on PATH, and none from apt-get (or set CHROMIUM)", { cause });
  }
  const installed = await firstOf(PROGRAMS);
  if (installed) return installed;
  throw new Error("the chromium from apt-get does not run (set CHROMIUM)");
}

async function firstOf(names: readonly string[]): Promise<string | undefined> {
  for (const name of names) {
    const path = await pathOf(name);
    if (path) return path;
  }
  return undefined;
}

async function pathOf(name: string): Promise<string | undefined> {
  try {
    await run(name, ["--version"]);
    return (await run("sh", ["-c", `command -v "${name}"`])).stdout.trim();
  } catch {
    return undefined;
  }
}
