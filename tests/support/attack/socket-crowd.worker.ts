import { parentPort, workerData } from "node:worker_threads";
import { WebSocket } from "ws";
import type { CrowdCounts, CrowdMember } from "./socket-crowd.ts";

/** Many clients over WebSocket, in a thread of their own: the turns of the server have the server's work alone. */
const { url, members } = workerData as { readonly url: string; readonly members: readonly CrowdMember[] };

const counts: CrowdCounts = { next: 0, complete: 0, closed: 0, reasons: [] };
const sockets = members.map(({ authorization, parameters, queries }) => {
  const socket = new WebSocket(url, "graphql-transport-ws");
  socket.on("error", () => {});
  socket.on("close", (code, reason) => {
    counts.closed += 1;
    counts.reasons.push(`${code} ${reason}`);
  });
  socket.on("open", () =>
    socket.send(JSON.stringify({ type: "connection_init", payload: { ...parameters, authorization } })),
  );
  socket.on("message", (data) => {
    const { type } = JSON.parse(String(data)) as { readonly type: string };
    if (type === "connection_ack")
      for (const [at, query] of queries.entries())
        socket.send(JSON.stringify({ id: `s${at}`, type: "subscribe", payload: { query } }));
    if (type === "next" || type === "complete") counts[type] += 1;
  });
  return socket;
});

parentPort?.on("message", (command: "count" | "cut") => {
  if (command === "cut") for (const socket of sockets) socket.terminate();
  parentPort?.postMessage(counts);
});
