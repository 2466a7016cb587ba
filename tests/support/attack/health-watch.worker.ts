import { readFileSync } from "node:fs";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";

/**
 * Checks a server until it is stopped, in its own thread, since an attacker keeps its own thread busy. With
 * each check it calls an idle server of this thread as well: the duration is that of the machine itself.
 */
const { origin, pid } = workerData as { readonly origin: string; readonly pid: number };
const LOOK_EVERY_MS = 50;

const control = createServer((_, reply) => reply.end("ok")).listen(0, "127.0.0.1");
await new Promise((resolve) => control.once("listening", resolve));
const controlOrigin = `http://127.0.0.1:${(control.address() as AddressInfo).port}`;

let isOver = false;
parentPort?.once("message", () => {
  isOver = true;
});
const seen = { worstMs: 0, worstWallMs: 0, worstControlMs: 0, peakMib: 0, looks: 0, failure: "" };
while (!isOver) {
  const busyBeforeMs = mainThreadMs();
  const [control, asked] = await Promise.all([timed(controlOrigin), timed(origin)]);
  // Where other processes have the processor, a check takes longer than the server itself was busy.
  const heldUpMs = Math.min(asked.ms, mainThreadMs() - busyBeforeMs);
  seen.worstControlMs = Math.max(seen.worstControlMs, control.ms);
  seen.worstMs = Math.max(seen.worstMs, heldUpMs);
  seen.worstWallMs = Math.max(seen.worstWallMs, asked.ms);
  seen.peakMib = Math.max(seen.peakMib, residentMib());
  seen.looks += 1;
  if (asked.outcome !== "200") seen.failure = asked.outcome;
  await sleep(LOOK_EVERY_MS);
}
parentPort?.postMessage(seen);
control.close();
control.closeAllConnections();

/** One health check on a new connection. */
async function timed(of: string): Promise<{ readonly ms: number; readonly outcome: string }> {
  const sinceMs = performance.now();
  const outcome = await new Promise<string>((resolve) => {
    const asked = request(`${of}/healthz`, { agent: false }, (reply) => {
      reply.resume();
      reply.once("end", () => resolve(String(reply.statusCode)));
    });
    asked.once("error", (error) => resolve(String(error)));
    asked.end();
  });
  return { ms: performance.now() - sinceMs, outcome };
}

/** Processor time of the thread that runs the event loop, in steps of 10 ms. */
function mainThreadMs(): number {
  const fields = readFileSync(`/proc/${pid}/task/${pid}/stat`, "utf8")
    .replace(/^.*\) /, "")
    .split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

function residentMib(): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1_024;
}
