import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import fc from "fast-check";
import type { Database } from "../../src/db/database.ts";
import { openDatabase } from "../../src/db/open.ts";
import { newRequestId } from "../../src/kernel/text/ids.ts";
import { finish } from "./ending.ts";
import { NO_BUG, type Plant } from "./plants.ts";
import { type Progress, runsOf } from "./steps.ts";
import { overrideNow, type SimClock, SimTimer } from "./world/clock.ts";
import { World } from "./world/world.ts";

/** The figures of a successful run. */
export type Ran = {
  readonly steps: number;
  readonly statements: number;
  readonly chats: number;
  readonly jobs: number;
};

/** A database in memory for any number of runs, one after the other. Its time is the simulation's. */
export async function openSimDatabase(plant: Plant = NO_BUG): Promise<Database> {
  const database = await openDatabase({ kind: "memory" });
  await overrideNow(database);
  await plant.prepare?.(database);
  return database;
}

/**
 * Runs one seed: the given number of steps, then everything is brought to its end and the ledger is audited.
 * Throws the violation with the seed, the step, and the steps before it.
 */
export async function runSeed(
  seed: number,
  { database, steps, plant = NO_BUG }: { database: Database; steps: number; plant?: Plant },
): Promise<Ran> {
  const [run = []] = fc.sample(runsOf(steps), { seed, numRuns: 1 });
  const progress: Progress = { steps: 0, recent: [] };
  const restore = [seedRandomness(seed)];
  try {
    const world = await World.create(database, plant);
    restore.push(replaceTime(world.clock));
    await fc.asyncModelRun(() => ({ model: progress, real: world }), run);
    await finish(world);
    const { chats, jobs } = world.books;
    return { steps: progress.steps, statements: world.gate.runs, chats: chats.size, jobs: jobs.size };
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new Error(
      `SIM_SEED=${seed}, after step ${progress.steps} of ${steps}: ${why}\n  ${progress.recent.join(" ")}`,
      { cause },
    );
  } finally {
    for (const undo of restore) undo();
  }
}

/** Timers that are shorter end when the simulation's time has passed; deadlines of requests are by its clock anyway. */
const SHORT_MS = 1_000;

/** Makes the simulation's time that of the whole process, for code without a clock, until the returned function is called. */
function replaceTime(clock: SimClock): () => void {
  const { setTimeout, clearTimeout, setInterval, clearInterval } = globalThis;
  const [date, monotonic] = [Date.now, performance.now];
  Date.now = () => clock.monotonicMs();
  performance.now = Date.now;
  const start = (callback: () => void, ms = 0) =>
    new SimTimer(clock, ms < SHORT_MS ? ms : undefined, callback);
  const repeat = (callback: () => void, ms = 0) => {
    const timer = start(() => {
      callback();
      timer.refresh();
    }, ms);
    return timer;
  };
  const end = (timer: unknown) =>
    timer instanceof SimTimer ? timer.end() : clearTimeout(timer as NodeJS.Timeout);
  const simulated = { setTimeout: start, clearTimeout: end, setInterval: repeat, clearInterval: end };
  Object.assign(globalThis, simulated);
  return () => {
    Object.assign(globalThis, { setTimeout, clearTimeout, setInterval, clearInterval });
    Date.now = date;
    performance.now = monotonic;
  };
}

/**
 * Derives every id, secret and random choice of the process from the seed, until the returned function is
 * called.
 */
function seedRandomness(seed: number): () => void {
  const { randomBytes, randomUUID, randomFillSync } = crypto;
  const { random } = Math;
  let drawn = 0;
  const draw = (size: number) =>
    Buffer.concat(
      Array.from({ length: Math.ceil(size / 32) }, () =>
        crypto.createHash("sha256").update(`${seed}/${drawn++}`).digest(),
      ),
    ).subarray(0, size);
  const uuid = () => {
    const hex = draw(16).toString("hex");
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`;
  };
  let isFilled = false;
  const fill = (bytes: Buffer) => {
    isFilled = true;
    return bytes.fill(draw(bytes.length));
  };
  const seeded = { randomBytes: draw, randomUUID: uuid, randomFillSync: fill } as unknown as typeof crypto;
  Object.assign(crypto, seeded);
  Math.random = () => draw(4).readUInt32BE() / 2 ** 32;
  syncBuiltinESMExports();
  // What was drawn for the ids of an earlier run is used up.
  while (!isFilled) newRequestId();
  return () => {
    Math.random = random;
    Object.assign(crypto, { randomBytes, randomUUID, randomFillSync });
    syncBuiltinESMExports();
  };
}
