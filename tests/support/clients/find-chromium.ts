import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);
const INSTALL_MS = 240_000;
/**
 * The headless shell first: `chromium --headless` is the whole browser, which draws its own toolbar in a process of
 * its own for each window. That took 0.7 to 0.9 s of processor time per page, more than many a page itself.
 */
const PROGRAMS = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];
const PACKAGES = ["chromium-headless-shell", "chromium"];

/**
 * A Chromium of this machine: CHROMIUM, then PATH, then the distribution's package. Throws when there is
 * none.
 */
export async function findChromium(): Promise<string> {
  const asked = process.env.CHROMIUM;
  for (const name of [...(asked ? [asked] : []), ...PROGRAMS]) {
    const path = await pathOf(name);
    if (path) return path;
  }
  const apt = (...words: string[]) =>
    run("apt-get", ["-qq", "-y", "-o", "Acquire::http::Timeout=20", ...words], {
      timeout: INSTALL_MS,
      env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
    });
  const failures: unknown[] = [];
  await apt("update").catch((error: unknown) => failures.push(error));
  for (const name of PACKAGES) {
    try {
      await apt("install", "--no-install-recommends", name);
      const path = await pathOf(name);
      if (path) return path;
    } catch (error) {
      failures.push(error);
    }
  }
  throw new AggregateError(failures, "no chromium on PATH, and none from apt-get (or set CHROMIUM)");
}

async function pathOf(name: string): Promise<string | undefined> {
  try {
    await run(name, ["--version"]);
    return (await run("sh", ["-c", `command -v "${name}"`])).stdout.trim();
  } catch {
    return undefined;
  }
}
