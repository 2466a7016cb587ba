import { withEnds } from "../bench/ends.ts";
import { startNetwork } from "../support/chain/network.ts";
import type { OnEnd } from "../support/servers/database.ts";
import { startPostgres } from "../support/servers/postgres.ts";
import { runProcess } from "../support/servers/process.ts";
import { type KillOutcome, killOnce } from "./kill.ts";
import { POINTS, planOf } from "./points.ts";
import { type CrashDatabase, type CrashWorld, openCrashWorld } from "./world.ts";

/**
 * `npm run test:crash`: kills the built product at every point with every seed, on both databases, and prints what it
 * found (promises P5). CRASH_SEEDS is the number of seeds, CRASH_SEED repeats one. Exits with 1 if there is a fault.
 */
const { CRASH_SEEDS = "25", CRASH_SEED } = process.env;
const SEEDS =
  CRASH_SEED === undefined ? Array.from({ length: Number(CRASH_SEEDS) }, (_, n) => n) : [Number(CRASH_SEED)];

type Kill = KillOutcome & { readonly database: string; readonly point: string; readonly seed: number };

await withEnds(async (onEnd) => {
  const startedMs = performance.now();
  const { rpcUrl } = await startNetwork(onEnd);
  const postgres = await startPostgres();
  onEnd(() => postgres.stop());
  const databases = [{ name: "PGlite" }, { name: "PostgreSQL", serverUrl: postgres.url }];
  // Side by side: each waits for one process at a time.
  const kills = (await Promise.all(databases.map((database) => killAll(database, rpcUrl, onEnd)))).flat();
  console.table(databases.flatMap(({ name }) => toRows(name, kills)));
  const faults = kills.flatMap((kill) =>
    kill.faults.map((fault) => `${kill.database}, ${kill.point}: ${fault}`),
  );
  const minutes = ((performance.now() - startedMs) / 60_000).toFixed(1);
  console.log(`${kills.length} kills, ${faults.length} faults, ${minutes} minutes`);
  for (const fault of faults) console.error(fault);
  process.exitCode = faults.length === 0 ? 0 : 1;
});

/** All kills on one database, one after the other, and the product's own verification of it in the end. */
async function killAll(database: CrashDatabase, rpcUrl: string, onEnd: OnEnd): Promise<readonly Kill[]> {
  const world = await openCrashWorld(database, rpcUrl, onEnd);
  await world.start();
  const kills: Kill[] = [];
  for (const seed of SEEDS) {
    for (const point of POINTS) {
      const outcome = await killOnce(world, planOf(point, seed)).catch((error) => startOver(world, error));
      kills.push({ database: database.name, point, seed, ...outcome });
      for (const fault of outcome.faults) console.error(`${database.name}, seed ${seed}, ${point}: ${fault}`);
    }
    console.log(`${database.name}: ${kills.length} kills`);
  }
  await world.product().end("SIGTERM");
  const { settings } = world;
  const verified = await runProcess({ script: "dist/gateway/cli/verify-ledger.js", settings, onEnd });
  console.log(`${database.name}: ${verified.stdout.trim()}`);
  if (verified.code !== 0) throw new Error(`ledger:verify: ${verified.stdout}${verified.stderr}`);
  return kills;
}

/** A kill that could not be judged is a fault as well; the others continue. */
async function startOver(world: CrashWorld, error: unknown): Promise<KillOutcome> {
  await world.product().end("SIGKILL");
  await world.start();
  return { faults: [String(error)], acknowledged: 0, unanswered: 0, unansweredCharged: 0, recoveredMs: 0 };
}

function toRows(name: string, kills: readonly Kill[]): readonly object[] {
  return POINTS.map((point) => {
    const here = kills.filter((kill) => kill.database === name && kill.point === point);
    const sum = (pick: (kill: Kill) => number) => here.reduce((total, kill) => total + pick(kill), 0);
    return {
      database: name,
      point,
      kills: here.length,
      acknowledged: sum(({ acknowledged }) => acknowledged),
      unanswered: sum(({ unanswered }) => unanswered),
      "of them charged": sum(({ unansweredCharged }) => unansweredCharged),
      faults: sum(({ faults }) => faults.length),
      "slowest restart, s": Math.max(...here.map(({ recoveredMs }) => Math.round(recoveredMs / 100) / 10)),
    };
  });
}
