import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Command } from "./command.ts";
import { UsageError } from "./exit.ts";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** `start`: runs the product of this folder, or of one above it, as `npm start` does. Ends with it. */
export const command: Command = async ({ words, isJson }) => {
  if (words.length > 0) throw new UsageError("zerograph start");
  if (isJson) throw new UsageError("start has no result: run zerograph status --json beside it.");
  const root = productFrom(process.cwd());
  if (!root)
    throw new UsageError(
      "The product is not in this folder. Run this in a checkout of zerograph, after npm ci.",
    );
  const child = spawn(join(root, "scripts/node"), ["--import", "tsx", "gateway/main.ts"], {
    cwd: root,
    stdio: "inherit",
  });
  const forward = (signal: NodeJS.Signals) => void child.kill(signal);
  for (const signal of SIGNALS) process.on(signal, forward);
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => {
      for (const signal of SIGNALS) process.off(signal, forward);
      resolve(code ?? 1);
    });
  });
};

/** The nearest folder upwards that has the product. */
function productFrom(folder: string): string | undefined {
  const manifest = join(folder, "package.json");
  if (existsSync(join(folder, "gateway/main.ts")) && existsSync(manifest)) {
    const { name } = JSON.parse(readFileSync(manifest, "utf8")) as { readonly name?: string };
    if (name === "zerograph") return folder;
  }
  const parent = dirname(folder);
  return parent === folder ? undefined : productFrom(parent);
}
