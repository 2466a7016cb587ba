import { BUGS } from "./plants.ts";
import { openSimDatabase, runSeed } from "./run.ts";

/**
 * `npm run sim:bugs`: plants one bug after the other and shows that the simulation finds it; exits 1 when one
 * stays hidden. `SIM_SEED` is the first seed, `SIM_STEPS` the length of a run, `SIM_BUG` a part of the names
 * of the bugs to plant.
 */
const FIRST_SEED = Number(process.env.SIM_SEED ?? 1);
const STEPS = Number(process.env.SIM_STEPS ?? 2_000);
const MAX_SEEDS = 100;
const PLANTED = BUGS.filter(({ name }) => name.includes(process.env.SIM_BUG ?? ""));

let hidden = 0;
for (const plant of PLANTED) {
  const database = await openSimDatabase(plant);
  const startedMs = performance.now();
  let found: string | undefined;
  for (let seed = FIRST_SEED; seed < FIRST_SEED + MAX_SEEDS && found === undefined; seed++)
    await runSeed(seed, { database, steps: STEPS, plant }).catch((error: Error) => {
      found = error.message.split("\n")[0];
    });
  await database.close();
  const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1);
  if (found === undefined) hidden++;
  console.log(`${plant.name}: ${found === undefined ? "NOT FOUND" : `found, ${found}`} (${seconds} s)`);
}
if (hidden > 0) console.error(`${hidden} of ${PLANTED.length} bugs were not found`);
// Deadlines of aborted requests are still waited for.
process.exit(hidden > 0 ? 1 : 0);
