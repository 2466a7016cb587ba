import { parentPort } from "node:worker_threads";

/** A thread that answers `{ kind: "echo", value }` with its value, and never ends another task. */
parentPort?.on("message", (task: { readonly kind: string; readonly value?: string }) => {
  while (task.kind !== "echo");
  parentPort?.postMessage({ result: task.value });
});
