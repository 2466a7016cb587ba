import { once } from "node:events";
import { WebSocket } from "ws";

/** The engine of a process, by its debugging protocol. */
export type Inspector = { call(method: string): Promise<Record<string, unknown>>; close(): void };

/** Connects to the address that a process with `--inspect` prints. */
export async function connectInspector(url: string): Promise<Inspector> {
  const socket = new WebSocket(url);
  await once(socket, "open");
  let calls = 0;
  const waiting = new Map<number, (result: Record<string, unknown>) => void>();
  socket.on("message", (data) => {
    const { id, result } = JSON.parse(String(data));
    waiting.get(id)?.(result);
    waiting.delete(id);
  });
  return {
    call(method) {
      const id = ++calls;
      socket.send(JSON.stringify({ id, method }));
      return new Promise((resolve) => waiting.set(id, resolve));
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
