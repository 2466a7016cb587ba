import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { Worker } from "node:worker_threads";

/** How a client of an attack behaves: whether it reads its answers, and after how long it disconnects. */
export type Manner = { readonly reads: boolean; readonly leavesAfterMs: number };

/** The resident memory of a process, MiB. */
export function residentMib(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1_024;
}

/** The number of open files and connections of a process. */
export function openFiles(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

/**
 * Opens connections, writes `payload` to each, reads the answers or does not, and disconnects. `burst` is
 * sent when the server has accepted a socket. Resolves when all have disconnected. The server may do anything
 * to such a connection; the effect on others is measured.
 */
export async function attack(
  origin: string,
  connections: number,
  payload: (index: number) => Buffer,
  { reads, leavesAfterMs }: Manner,
  burst?: Buffer,
): Promise<{ readonly bytesRead: number }> {
  const { hostname, port } = new URL(origin);
  let bytesRead = 0;
  const sockets = Array.from({ length: connections }, (_, index) => {
    const socket: Socket = connect({ host: hostname, port: Number(port) });
    socket.on("error", () => {});
    if (burst)
      socket.on("data", function accepted(chunk) {
        if (!chunk.includes("connection_ack")) return;
        socket.off("data", accepted);
        socket.write(burst);
        if (!reads) socket.pause();
      });
    if (reads)
      socket.on("data", (chunk) => {
        bytesRead += chunk.length;
      });
    else if (!burst) socket.pause();
    socket.write(payload(index));
    return socket;
  });
  await sleep(leavesAfterMs);
  for (const socket of sockets) socket.destroy();
  return { bytesRead };
}

/** A request as raw bytes. */
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

/** The handshake of a graph socket, and its first message. */
export function socketOpening(): Buffer {
  const upgrade = rawRequest("GET", "/graphql", "", {
    upgrade: "websocket",
    connection: "upgrade",
    "sec-websocket-version": "13",
    "sec-websocket-key": randomBytes(16).toString("base64"),
    "sec-websocket-protocol": "graphql-transport-ws",
  });
  return Buffer.concat([upgrade, textFrame({ type: "connection_init" })]);
}

/** A message as a client's frame (RFC 6455, section 5.2), masked by zeros. Up to 65,535 bytes. */
export function textFrame(message: object): Buffer {
  const bytes = Buffer.from(JSON.stringify(message));
  const head = Buffer.alloc(8);
  head.writeUInt8(0x81, 0);
  head.writeUInt8(0x80 | 126, 1);
  head.writeUInt16BE(bytes.length, 2);
  return Buffer.concat([head, bytes]);
}

/** The observations while a process was watched. Times in ms, memory in MiB. */
export type Seen = {
  /** The longest time that a health check on a new connection waited for the server's own work. */
  readonly worstMs: number;
  /** The longest duration of one on the clock. */
  readonly worstWallMs: number;
  /** The longest duration at an idle server of this machine at the same time. */
  readonly worstControlMs: number;
  readonly peakMib: number;
  readonly looks: number;
  /** The error of a failed health check; empty when none failed. */
  readonly failure: string;
};

/**
 * Watches a process while it is attacked. Returns a function that stops watching and returns the
 * observations.
 */
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
