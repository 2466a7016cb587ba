import { setTimeout as sleep } from "node:timers/promises";
import { randomOf } from "../crash/points.ts";
import { startPublisher } from "../support/storage/publisher.ts";
import { ACTIONS, RefusedError, type TrafficRecord, type Turn } from "./actions.ts";
import type { SoakedSet } from "./sets.ts";

type ActionName = keyof typeof ACTIONS;

/** Clients at work. */
export type Traffic = {
  readonly record: TrafficRecord;
  /** The actions that were done, by name. */
  readonly done: ReadonlyMap<ActionName, number>;
  /** Answered 503, which clients repeat. */
  readonly refused: () => number;
  /** How often an action failed otherwise, by its message. */
  readonly failures: ReadonlyMap<string, number>;
  /** Actions begun per second. */
  perSecond: number;
  /** Begins no more actions, and waits for those that run. */
  stop(): Promise<void>;
};

/** How many of a hundred actions are of each kind. */
export const MIX: Readonly<Record<ActionName, number>> = {
  ...{ chat: 48, stream: 22, query: 18, subscribe: 6, image: 3, upload: 1, download: 2 },
};
const START_PER_SECOND = 5;
const MAX_RUNNING = 64;
/** Beyond that, a pause of the generator is not caught up. */
const MAX_BEHIND_MS = 1_000;
const MAX_MESSAGES = 50;

/** Starts clients that do one action after the other at `perSecond`, whether earlier ones are done or not. */
export async function startTraffic({ origin, rpcUrl, customers }: SoakedSet): Promise<Traffic> {
  const publisher = await startPublisher({ rpcUrl, origin });
  const record: TrafficRecord = { billed: 0, left: 0, roots: [], uploadedBytes: 0 };
  const done = new Map<ActionName, number>();
  const failures = new Map<string, number>();
  const running = new Set<Promise<void>>();
  const names = shuffledMix();
  let refused = 0;
  let isStopped = false;
  let isUploading = false;
  const act = async (name: ActionName, turn: Turn) => {
    try {
      await ACTIONS[name](turn);
      done.set(name, (done.get(name) ?? 0) + 1);
    } catch (error) {
      const message = `${name}: ${error}`;
      if (isRefusal(error)) refused += 1;
      else if (failures.has(message) || failures.size < MAX_MESSAGES)
        failures.set(message, (failures.get(message) ?? 0) + 1);
    }
  };
  const begin = (n: number) => {
    const name = names[n % names.length];
    const customer = customers[n % customers.length];
    // The publisher has one wallet, whose transactions have numbers.
    if (!name || !customer || running.size >= MAX_RUNNING || (name === "upload" && isUploading)) return;
    if (name === "upload") isUploading = true;
    const acting: Promise<void> = act(name, { origin, customer, n, publisher, record }).finally(() => {
      running.delete(acting);
      if (name === "upload") isUploading = false;
    });
    running.add(acting);
  };
  const traffic = { record, done, failures, refused: () => refused, perSecond: START_PER_SECOND };
  const beginAll = async () => {
    let dueMs = performance.now();
    for (let n = 0; !isStopped; n++) {
      begin(n);
      dueMs = Math.max(dueMs + 1_000 / all.perSecond, performance.now() - MAX_BEHIND_MS);
      await sleep(Math.max(0, dueMs - performance.now()));
    }
  };
  const all: Traffic = Object.assign(traffic, {
    async stop() {
      isStopped = true;
      await begun;
      await Promise.all(running);
    },
  });
  const begun = beginAll();
  return all;
}

/** The publisher and the followers name the status. */
function isRefusal(error: unknown): boolean {
  return error instanceof RefusedError || (error instanceof Error && error.message.startsWith("503 "));
}

/** A hundred actions in an order that is the same in each run. */
function shuffledMix(): readonly ActionName[] {
  const random = randomOf(1);
  return Object.entries(MIX)
    .flatMap(([name, count]) => Array.from({ length: count }, () => name as ActionName))
    .map((name) => ({ name, at: random() }))
    .toSorted((one, other) => one.at - other.at)
    .map(({ name }) => name);
}
