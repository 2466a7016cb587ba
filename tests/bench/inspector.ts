import { once } from "node:events";
import { closeSync, openSync, writeSync } from "node:fs";
import { WebSocket } from "ws";

/** The engine of a process, by its debugging protocol. */
export type Inspector = {
  call(method: string): Promise<Record<string, unknown>>;
  /** Receives the parts of a heap snapshot while one is taken. */
  onSnapshotPart(listener: (part: string) => void): void;
  close(): void;
};

/** Connects to the address that a process with `--inspect` prints. */
export async function connectInspector(url: string): Promise<Inspector> {
  const socket = new WebSocket(url, { maxPayload: 0 });
  await once(socket, "open");
  let calls = 0;
  const waiting = new Map<number, (result: Record<string, unknown>) => void>();
  let onPart = (_: string) => {};
  socket.on("message", (data) => {
    const { id, result, method, params } = JSON.parse(String(data));
    if (method === "HeapProfiler.addHeapSnapshotChunk") onPart(params.chunk);
    waiting.get(id)?.(result);
    waiting.delete(id);
  });
  return {
    call(method) {
      const id = ++calls;
      socket.send(JSON.stringify({ id, method }));
      return new Promise((resolve) => waiting.set(id, resolve));
    },
    onSnapshotPart: (listener) => {
      onPart = listener;
    },
    close: () => socket.terminate(),
  };
}

/** The heap in use after a garbage collection, bytes. */
export async function readLiveHeap(engine: Inspector): Promise<number> {
  await engine.call("HeapProfiler.collectGarbage");
  const { usedSize = 0 } = await engine.call("Runtime.getHeapUsage");
  return Number(usedSize);
}

/** Writes a heap snapshot, which Chromium's developer tools open and compare. The process stands still meanwhile. */
export async function writeHeapSnapshot(engine: Inspector, path: string): Promise<void> {
  const file = openSync(path, "w");
  engine.onSnapshotPart((part) => void writeSync(file, part));
  await engine.call("HeapProfiler.takeHeapSnapshot");
  closeSync(file);
}
