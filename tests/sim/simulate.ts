import { expect, test } from "vitest";
import { openSimDatabase, runSeed } from "./run.ts";

const { SIM_SEED, SIM_SEEDS = "8", SIM_STEPS = "2000" } = process.env;
const SEEDS = Array.from({ length: Number(SIM_SEEDS) }, (_, n) => n + 1);
const STEPS = Number(SIM_STEPS);
/** A seed takes 2 s on an idle machine. */
const SEED_TIMEOUT_MS = 60_000;
const MIN_TIMEOUT_MS = 900_000;

/** Runs every `of`th seed from `part` on, or with `SIM_SEED` only that one. Every failing seed is named. */
export function simulate(part: number, of: number): void {
  const seeds = SIM_SEED ? [Number(SIM_SEED)].filter(() => part === 0) : SEEDS.filter((n) => n % of === part);
  test.skipIf(seeds.length === 0)(
    `${seeds.length} runs of ${STEPS} steps each keep the ledger consistent (part ${part + 1} of ${of})`,
    async () => {
      const database = await openSimDatabase();
      const failures: string[] = [];
      let [chats, jobs] = [0, 0];
      for (const seed of seeds)
        await runSeed(seed, { database, steps: STEPS }).then(
          (ran) => {
            chats += ran.chats;
            jobs += ran.jobs;
          },
          (error: Error) => failures.push(error.message),
        );
      await database.close();
      expect(failures, failures.join("\n")).toEqual([]);
      // A simulation without requests would find nothing.
      if (SIM_SEED) return;
      expect(chats).toBeGreaterThan(seeds.length * (STEPS / 50));
      expect(jobs).toBeGreaterThan(seeds.length);
    },
    Math.max(MIN_TIMEOUT_MS, seeds.length * SEED_TIMEOUT_MS),
  );
}
