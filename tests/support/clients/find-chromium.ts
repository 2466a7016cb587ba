import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);
const INSTALL_MS = 240_000;

/**
 * A Chromium of this machine: CHROMIUM, then PATH, then the distribution's package. Throws when there is
 * none.
 */
export async function findChromium(): Promise<string> {
  const asked = process.env.CHROMIUM;
  for (const name of [...(asked ? [asked] : []), "chromium", "chromium-browser", "google-chrome"]) {
    const path = await pathOf(name);
    if (path) return path;
  }
  const apt = (...words: string[]) =>
    run("apt-get", ["-qq", "-y", "-o", "Acquire::http::Timeout=20", ...words], {
      timeout: INSTALL_MS,
      env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
    });
  try {
    await apt("update");
    await apt("install", "--no-install-recommends", "chromium");
  } catch (cause) {
    throw new Error("no chromium on PATH, and none from apt-get (or set CHROMIUM)", { cause });
  }
  const path = await pathOf("chromium");
  if (!path) throw new Error("the chromium from apt-get does not run (set CHROMIUM)");
  return path;
}

async function pathOf(name: string): Promise<string | undefined> {
  try {
    await run(name, ["--version"]);
    return (await run("sh", ["-c", `command -v "${name}"`])).stdout.trim();
  } catch {
    return undefined;
  }
}
