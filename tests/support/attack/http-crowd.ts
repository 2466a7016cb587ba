import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { until } from "../until.ts";

/** What all connections together have received: answers by their status; and how many were closed. */
export type HttpCrowdCounts = {
  connected: number;
  answered: number;
  closed: number;
  readonly statuses: Record<string, number>;
};

/** So many open HTTP connections to the server of this origin, in a thread of their own. */
export async function openHttpCrowd(origin: string, connections: number) {
  const worker = new Worker(new URL("http-crowd.worker.ts", import.meta.url), {
    workerData: { port: Number(new URL(origin).port), connections },
    execArgv: [],
  });
  const ask = async (command: object): Promise<HttpCrowdCounts> => {
    worker.postMessage(command);
    return (await once(worker, "message"))[0] as HttpCrowdCounts;
  };
  await until(async () => (await ask({ kind: "count" })).connected === connections);
  return {
    count: () => ask({ kind: "count" }),
    /** Sends a request on each connection: these texts in turn. */
    send: (requests: readonly string[]) => ask({ kind: "send", requests }),
    /** Ends all connections at once. */
    cut: () => ask({ kind: "cut" }),
    close: () => worker.terminate(),
  };
}
