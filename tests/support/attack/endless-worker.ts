import { parentPort } from "node:worker_threads";

/**
 * A thread that answers `{ kind: "echo", value }` with its value, after it was suspended for `suspendedMs`, and never
 * ends another task.
 */
parentPort?.on("message", (task: { kind: string; value?: string; suspendedMs?: number }) => {
  while (task.kind !== "echo");
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, task.suspendedMs ?? 0);
  parentPort?.postMessage({ result: task.value });
});
