import { parentPort, workerData } from "node:worker_threads";
import { Keccak } from "./keccak.ts";

/** A segment in the memory that a thread shares with its pool: where, how long, and how many leaves it has. */
export type HashTask = {
  readonly slot: number;
  readonly at: number;
  readonly length: number;
  readonly leaves: number;
};
/** The root over the chunks of a task. */
export type HashAnswer = { readonly slot: number; readonly root: Uint8Array };

const keccak = new Keccak();
const shared = workerData as SharedArrayBuffer;

parentPort?.on("message", ({ slot, at, length, leaves }: HashTask) => {
  const answer: HashAnswer = {
    slot,
    root: keccak.rootOfChunks(new Uint8Array(shared, at, length), leaves),
  };
  parentPort?.postMessage(answer);
});
