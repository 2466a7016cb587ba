// @module-tag large
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { isAlive } from "../support/servers/process.ts";
import { until } from "../support/until.ts";

const LEAVING = new URL("../support/run/leaving-run.ts", import.meta.url);

/** A run that has started two programs and written a file, and waits for the order to end. */
async function startRun() {
  const child = spawn(process.execPath, [fileURLToPath(LEAVING)], { detached: true });
  onTestFinished(() => void child.kill("SIGKILL"));
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  const [line] = await once(child.stdout, "data");
  const { pids, folder }: { pids: number[]; folder: string } = JSON.parse(String(line));
  expect(await Promise.all(pids.map(isAlive))).toEqual([true, true]);
  return {
    child,
    isGone: async () =>
      !(await Promise.all(pids.map(isAlive))).includes(true) && !existsSync(dirname(folder)),
    async end(order: "clean" | "leave") {
      child.stdin.end(order);
      const [code] = await once(child, "close");
      return { code, errors };
    },
  };
}

test.each(["SIGKILL", "SIGTERM", "SIGHUP", "SIGINT"] as const)(
  "nothing that a run started outlives %s to its processes",
  async (signal) => {
    const { child, isGone } = await startRun();
    // A terminal sends it to the whole process group.
    process.kill(-(child.pid ?? 0), signal);
    await until(isGone);
  },
);

test("a run that ends fails when a process that it started is still running, and ends it", async () => {
  const { end, isGone } = await startRun();
  const { code, errors } = await end("leave");
  expect(code).toBe(1);
  expect(errors).toMatch(/the run has ended, but not these processes:\n\d+ sleep 600 \n\d+ sleep 600/);
  expect(await isGone()).toBe(true);
});

test("a run that ended what it started leaves nothing", async () => {
  const { end, isGone } = await startRun();
  expect(await end("clean")).toEqual({ code: 0, errors: "" });
  expect(await isGone()).toBe(true);
});
