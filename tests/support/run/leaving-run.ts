import { spawn } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { guardRun } from "./guard-run.ts";

/**
 * A run that leaves a folder with a file and two programs: one in a session of its own, and one that shows no
 * environment but works in the folder. Prints their process ids and the folder, and ends as its input says.
 */
const run = guardRun();
const folder = mkdtempSync(join(tmpdir(), "left-"));
writeFileSync(join(folder, "data"), "left");
const started = [
  spawn("sleep", ["600"], { stdio: "ignore", detached: true }),
  spawn("sleep", ["600"], { stdio: "ignore", detached: true, cwd: folder, env: {} }),
];
for (const child of started) child.unref();
console.log(JSON.stringify({ pids: started.map(({ pid }) => pid), folder }));
const order = await text(process.stdin);
if (order === "clean") for (const child of started) child.kill();
await run.end();
