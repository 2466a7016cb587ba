import { once } from "node:events";
import { Worker } from "node:worker_threads";

/** A client: its credential and other connection parameters, and the subscriptions of its one socket. */
export type CrowdMember = {
  readonly authorization: string;
  readonly parameters?: Readonly<Record<string, string>>;
  readonly queries: readonly string[];
};

/** What all clients together have received, and how the sockets were closed. */
export type CrowdCounts = { next: number; complete: number; closed: number; readonly reasons: string[] };

/** Many clients over WebSocket at the server of this origin, in a thread of their own. */
export function openCrowd(origin: string, members: readonly CrowdMember[]) {
  const url = `${origin.replace("http", "ws")}/graphql`;
  const worker = new Worker(new URL("socket-crowd.worker.ts", import.meta.url), {
    workerData: { url, members },
    execArgv: [],
  });
  const ask = async (command: "count" | "cut"): Promise<CrowdCounts> => {
    worker.postMessage(command);
    return (await once(worker, "message"))[0] as CrowdCounts;
  };
  return {
    /** What they have received so far. */
    count: () => ask("count"),
    /** Ends all connections at once, as a proxy that restarts does. */
    cut: () => ask("cut"),
    close: () => worker.terminate(),
  };
}
