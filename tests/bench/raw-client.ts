import { once } from "node:events";
import { connect, type Socket } from "node:net";

/** The results of a round of downloads. */
export type Downloaded = { readonly files: number; readonly bytes: number; readonly seconds: number };

/**
 * Downloads paths over keep-alive connections, one request at a time on each, and discards the bytes: the
 * least work for a client, so that the server is measured. Throws for any answer that is not 200 with a
 * length.
 */
export async function downloadAll(
  origin: string,
  paths: readonly string[],
  connections: number,
): Promise<Downloaded> {
  const { hostname, port } = new URL(origin);
  const waiting = [...paths].reverse();
  let bytes = 0;
  const startedMs = performance.now();
  const lane = async () => {
    const socket = connect({ host: hostname, port: Number(port), noDelay: true });
    await once(socket, "connect");
    for (let path = waiting.pop(); path !== undefined; path = waiting.pop())
      bytes += await downloadOne(socket, `GET ${path} HTTP/1.1\r\nhost: ${hostname}\r\n\r\n`);
    socket.destroy();
  };
  await Promise.all(Array.from({ length: Math.min(connections, paths.length) }, lane));
  return { files: paths.length, bytes, seconds: (performance.now() - startedMs) / 1_000 };
}

function downloadOne(socket: Socket, request: string): Promise<number> {
  return new Promise((resolve, reject) => {
    let head = "";
    let [length, left] = [-1, -1];
    const end = (error?: Error) => {
      socket.off("data", onData).off("error", end).off("close", onClose);
      if (error) reject(error);
      else resolve(length);
    };
    const onClose = () => end(new Error("the server hung up"));
    const onData = (part: Buffer) => {
      if (left < 0) {
        head += part.toString("latin1");
        const body = head.indexOf("\r\n\r\n");
        if (body < 0) return;
        length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? Number.NaN);
        if (!head.startsWith("HTTP/1.1 200") || Number.isNaN(length))
          return end(new Error(`no download: ${head.slice(0, 200)}`));
        left = length - (head.length - body - 4);
      } else left -= part.length;
      if (left <= 0) end();
    };
    socket.on("data", onData).on("error", end).on("close", onClose);
    socket.write(request);
  });
}
