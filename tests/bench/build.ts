import { execFile } from "node:child_process";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

/** The product as deployed. */
export const PRODUCT = "dist/gateway/main.js";
const BUILT = ".cache/bench";
const TSC = "node_modules/typescript/bin/tsc";

/**
 * Compiles the product, its peers and the provider stand-in. The loader that runs TypeScript assigns a name
 * to every closure when it is created, which takes up to a tenth of a request.
 */
export async function buildBench(): Promise<void> {
  console.log("Compiling the product and its peers...");
  const run = promisify(execFile);
  await run("npm", ["run", "--silent", "build"]);
  await run(process.execPath, [TSC, "-p", "tests/bench/tsconfig.json"]);
  await cp("schema", join(BUILT, "schema"), { recursive: true });
}

/** The compiled file of a program beside this one, by its name without the extension: `peers/fastify-proxy`. */
export function builtFile(name: string): string {
  return join(BUILT, `tests/bench/${name}.js`);
}
