import { connect } from "node:net";
import { parentPort, workerData } from "node:worker_threads";
import type { HttpCrowdCounts } from "./http-crowd.ts";

/** Many HTTP connections, in a thread of their own: the turns of the server have the server's work alone. */
const { port, connections } = workerData as { readonly port: number; readonly connections: number };

const counts: HttpCrowdCounts = { connected: 0, answered: 0, closed: 0, statuses: {} };
const sockets = Array.from({ length: connections }, () => {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  socket.on("connect", () => {
    counts.connected += 1;
  });
  socket.on("close", () => {
    counts.closed += 1;
  });
  socket.on("data", (data) => {
    const [, status] = /^HTTP\/1\.1 (\d+)/.exec(data.toString("latin1")) ?? [];
    if (status === undefined) return;
    counts.answered += 1;
    counts.statuses[status] = (counts.statuses[status] ?? 0) + 1;
  });
  return socket;
});

type Command = { readonly kind: "count" | "cut" } | { readonly kind: "send"; readonly requests: string[] };

parentPort?.on("message", (command: Command) => {
  if (command.kind === "cut") for (const socket of sockets) socket.destroy();
  if (command.kind === "send")
    for (const [at, socket] of sockets.entries())
      socket.write(command.requests[at % command.requests.length] ?? "");
  parentPort?.postMessage(counts);
});
