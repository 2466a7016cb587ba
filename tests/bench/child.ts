import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { PRODUCT } from "./build.ts";

/** A program in its own process, once it has printed where it listens. */
export type Child = { readonly origin: string; readonly process: ChildProcess; stop(): Promise<void> };

const START_MS = 300_000;
const ROOT = new URL("../..", import.meta.url);

/**
 * Runs a file of this repository, TypeScript or built, and waits until its output matches `ready`, whose
 * first group is its origin. Throws with its output when it ends before.
 */
export async function startChild(
  file: string,
  options: {
    readonly ready: RegExp;
    readonly env: Readonly<Record<string, string>>;
    readonly nodeFlags?: readonly string[];
    /** Whether Node gets the flags that the product starts with. */
    readonly isOurs?: boolean;
    /** Called with everything that it has written so far, until it is ready. */
    readonly onOutput?: (text: string) => void;
  },
): Promise<Child> {
  const loader = file.endsWith(".ts") ? ["--import", "tsx"] : [];
  const flags = [...(options.nodeFlags ?? []), ...loader, file];
  const { isOurs = file === PRODUCT } = options;
  const child = spawn(isOurs ? "scripts/node" : process.execPath, flags, {
    cwd: ROOT,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, TMPDIR: process.env.TMPDIR, ...options.env },
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  const exited = once(child, "exit");
  let output = "";
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const listen = (chunk: Buffer) => {
    output += chunk.toString();
    options.onOutput?.(output);
    const origin = options.ready.exec(output)?.[1];
    if (origin !== undefined) resolve(origin);
  };
  child.stdout?.on("data", listen);
  child.stderr?.on("data", (chunk: Buffer) => {
    listen(chunk);
    process.stderr.write(chunk);
  });
  void exited.then(() => reject(new Error(`${file} ended: ${output.slice(-2_000)}`)));
  const patience = setTimeout(() => reject(new Error(`${file} does not start: ${output}`)), START_MS);
  const stop = async () => {
    if (child.exitCode === null) child.kill("SIGTERM");
    await exited;
  };
  try {
    return { origin: await promise, process: child, stop };
  } catch (error) {
    child.kill("SIGKILL");
    throw error;
  } finally {
    clearTimeout(patience);
  }
}
