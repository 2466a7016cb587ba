import { execFile } from "node:child_process";
import { globSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { bundle } from "../../scripts/bundle.ts";

/** The product as deployed. */
export const PRODUCT = "dist/gateway/main.js";
const BUILT = ".cache/bench";

/**
 * Builds the product, and in the same way its peers and the provider stand-in: the loader that runs TypeScript assigns a
 * name to every closure when it is created, which takes up to a tenth of a request.
 */
export async function buildBench(): Promise<void> {
  console.log("Building the product and its peers...");
  await promisify(execFile)("npm", ["run", "--silent", "build"]);
  rmSync(BUILT, { recursive: true, force: true });
  await bundle(
    [
      ...globSync("tests/bench/peers/{,graph/}*.ts"),
      "tests/bench/stand-in.ts",
      "gateway/federation/planner/planner-child.ts",
      ...globSync("src/**/*-worker.ts"),
    ],
    BUILT,
  );
}

/** The file of a program beside this one, as built, by its name without the extension: `peers/fastify-proxy`. */
export function builtFile(name: string): string {
  return join(BUILT, `tests/bench/${name}.js`);
}
