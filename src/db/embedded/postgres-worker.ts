import { parentPort, workerData } from "node:worker_threads";
import { EmbeddedPostgres, type PostgresOptions } from "./postgres.ts";

/** Messages of a client, or the request to close the database. */
export type WorkerRequest = Uint8Array | "close";
/**
 * The answer to one request, in the order of the requests: bytes, `done`, or the failure. An additional first answer is
 * for opening the database.
 */
export type WorkerAnswer = Uint8Array | "done" | { readonly failure: unknown };

const port = parentPort;
if (!port) throw new Error("postgres-worker runs in a worker thread");

const opening = EmbeddedPostgres.open(workerData as PostgresOptions);

async function answerTo(request: WorkerRequest): Promise<WorkerAnswer> {
  const postgres = await opening;
  if (request !== "close") return postgres.exchange(request);
  await postgres.close();
  return "done";
}

function send(answer: WorkerAnswer): void {
  port?.postMessage(answer, answer instanceof Uint8Array ? [answer.buffer as ArrayBuffer] : []);
}

const toFailure = (failure: unknown): WorkerAnswer => ({ failure });

let last = opening.then((): WorkerAnswer => "done").then(send, (error) => send(toFailure(error)));
port.on("message", (request: WorkerRequest) => {
  last = last.then(() => answerTo(request).catch(toFailure)).then(send);
});
