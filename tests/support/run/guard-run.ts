import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** What a run that ends by itself writes to its reaper. */
export const ENDED = "ended";

/** A run of tests or of benchmarks, which ends everything that it starts. */
export type GuardedRun = {
  /** Removes the run's folder. Throws when a process that the run started is still running, and ends it. */
  end(): Promise<void>;
};

/**
 * Makes TMPDIR a new folder of this run, for this process and all that it starts, and starts the reaper of `reaper.ts`
 * beside it: if this process ends without `end`, by a signal or by kill -9, the reaper kills what it started and
 * removes the folder.
 */
export function guardRun(): GuardedRun {
  const folder = mkdtempSync(join(tmpdir(), "zerograph-run-"));
  // A server that runs as another user has its own folder inside.
  chmodSync(folder, 0o711);
  const before = process.env.TMPDIR;
  const reaper = spawn(
    process.execPath,
    [fileURLToPath(new URL("reaper.ts", import.meta.url)), folder, `${process.pid}`],
    // Its own session: Ctrl-C in a terminal and the end of that terminal do not reach it.
    { cwd: "/", env: { PATH: process.env.PATH }, detached: true, stdio: ["pipe", "pipe", "inherit"] },
  );
  let leftovers = "";
  reaper.stdout.setEncoding("utf8").on("data", (text: string) => {
    leftovers += text;
  });
  process.env.TMPDIR = folder;
  return {
    async end() {
      if (before === undefined) delete process.env.TMPDIR;
      else process.env.TMPDIR = before;
      const closed = once(reaper, "close");
      reaper.stdin.end(ENDED);
      await closed;
      if (leftovers.trim())
        throw new Error(`the run has ended, but not these processes:\n${leftovers.trim()}`);
    },
  };
}
