import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    /** The file that exists once the product is built: empty, or with the reason why it could not be. */
    buildResult: string;
  }
}

type Build = { readonly result: string; end(): Promise<void> };

const BUILD = Symbol.for("zerograph.build");
const builds = globalThis as { [BUILD]?: Build };

/**
 * Builds the product, which the tests of whole processes run as it is deployed: it starts in half the time of its
 * sources. Once for all projects of the run, and beside the first tests; `startReady` waits for it.
 */
export function setup(project: TestProject): () => Promise<void> {
  builds[BUILD] ??= startBuild();
  const build = builds[BUILD];
  project.provide("buildResult", build.result);
  return () => build.end();
}

function startBuild(): Build {
  const folder = mkdtempSync(join(tmpdir(), "zerograph-build-"));
  const result = join(folder, "result");
  const child = spawn("npm", ["run", "--silent", "build"], { stdio: ["ignore", "ignore", "pipe"] });
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  const ended = once(child, "close").then(([code]) =>
    writeFileSync(result, code === 0 ? "" : `npm run build failed:\n${errors}`),
  );
  return {
    result,
    async end() {
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
