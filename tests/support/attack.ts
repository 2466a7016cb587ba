import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { Worker } from "node:worker_threads";

/** How a client of an attack behaves: whether it reads what it gets, and after how long it disconnects. */
export type Manner = { readonly reads: boolean; readonly leavesAfterMs: number };

/** How much memory a process has resident, MiB. */
export function residentMib(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1_024;
}

/**
 * Opens connections, writes `payload` to each, reads the answers or does not, and leaves. Resolves when all have left.
 * Whatever a server does to such a connection is fine; what is measured is what it does to others.
 */
export async function attack(
  origin: string,
  connections: number,
  payload: (index: number) => Buffer,
  { reads, leavesAfterMs }: Manner,
): Promise<{ readonly bytesRead: number }> {
  const { hostname, port } = new URL(origin);
  let bytesRead = 0;
  const sockets = Array.from({ length: connections }, (_, index) => {
    const socket: Socket = connect({ host: hostname, port: Number(port) });
    socket.on("error", () => {});
    if (reads)
      socket.on("data", (chunk) => {
        bytesRead += chunk.length;
      });
    else socket.pause();
    socket.write(payload(index));
    return socket;
  });
  await sleep(leavesAfterMs);
  for (const socket of sockets) socket.destroy();
  return { bytesRead };
}

/** A request as it goes over the wire. */
export function rawRequest(
  method: string,
  path: string,
  body: Buffer | string = "",
  headers: Readonly<Record<string, string>> = {},
): Buffer {
  const bytes = Buffer.from(body);
  const lines = Object.entries({
    host: "127.0.0.1",
    ...(bytes.length > 0 && { "content-type": "application/json", "content-length": String(bytes.length) }),
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n`), bytes]);
}

/** What was seen while a process was watched. Times in ms, memory in MiB. */
export type Seen = {
  /** The longest that a health check on a new connection waited for the server's own work. */
  readonly worstMs: number;
  /** The longest that one took on the clock. */
  readonly worstWallMs: number;
  /** The longest that an idle server of this machine took at the same time. */
  readonly worstControlMs: number;
  readonly peakMib: number;
  readonly looks: number;
  /** What a health check failed with; empty when none did. */
  readonly failure: string;
};

/** Watches a process while it is attacked. Returns how to end that, and see what was seen. */
export function watch(origin: string, pid: number): () => Promise<Seen> {
  const worker = new Worker(new URL("./health-watch.worker.ts", import.meta.url), {
    workerData: { origin, pid },
  });
  return async () => {
    const seen = once(worker, "message");
    worker.postMessage("end");
    return (await seen)[0] as Seen;
  };
}
