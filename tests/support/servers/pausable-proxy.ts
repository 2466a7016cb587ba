import { connect, createServer, type Socket } from "node:net";
import { freePort } from "./postgres.ts";

/** A proxy to a server that can hang, as a stopped machine does, or be cut, as by `kill -9`. */
export type PausableProxy = {
  readonly port: number;
  /** Connections stay open, new ones are accepted, and nothing is passed on any more. */
  pause(): void;
  /** What waited is passed on. */
  resume(): void;
  /** Breaks all connections and refuses new ones until `open`. */
  cut(): Promise<void>;
  open(): Promise<void>;
  close(): Promise<void>;
};

/** Starts one in front of a port of 127.0.0.1. */
export async function startPausableProxy(target: number): Promise<PausableProxy> {
  const port = await freePort();
  const ends = new Set<Socket>();
  let isPaused = false;
  const server = createServer({ noDelay: true }, (near) => {
    const far = connect({ port: target, host: "127.0.0.1", noDelay: true });
    for (const [end, other] of [
      [near, far],
      [far, near],
    ] as const) {
      ends.add(end);
      if (isPaused) end.pause();
      end.on("data", (chunk) => void other.write(chunk));
      if (isPaused) end.pause();
      end.on("error", () => {});
      end.once("close", () => {
        ends.delete(end);
        other.destroy();
      });
    }
  });
  const open = () => new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const cut = async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    for (const end of ends) end.destroy();
    await closed;
  };
  await open();
  return {
    port,
    pause() {
      isPaused = true;
      for (const end of ends) end.pause();
    },
    resume() {
      isPaused = false;
      for (const end of ends) end.resume();
    },
    cut,
    open,
    close: async () => {
      if (server.listening) await cut();
    },
  };
}
