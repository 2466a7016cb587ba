import { LedgerService } from "../../../src/accounts/ledger.service.ts";
import { UsageRollups } from "../../../src/accounts/usage/usage-rollups.service.ts";
import type { Database } from "../../../src/db/database.ts";
import { openDatabase } from "../../../src/db/open.ts";
import { createLogger } from "../../../src/kernel/log.ts";
import { fillMonth, monthsAgo } from "../../support/fill-months.ts";
import { type Seeded, seedAccount } from "../../support/seed.ts";
import type { OnEnd } from "../../support/servers/database.ts";
import { startDurablePostgres } from "../durable-postgres.ts";
import { quantile } from "../load.ts";

/** How much history is verified; `added` are the numbers of new requests that the next verification finds. */
export type VerifyPace = {
  readonly accounts: number;
  readonly months: number;
  readonly requestsPerMonth: number;
  readonly added: readonly number[];
  readonly rounds: number;
};

const NEURON = 10n ** 24n;
const LANES = 8;
const SLOWEST = 3;

/** How long `ledger:verify` takes on a PostgreSQL server: of everything, and of what is new since the last time. */
export async function benchVerify(
  pace: VerifyPace,
  onEnd: OnEnd,
  print: (line: string) => void,
): Promise<void> {
  const postgres = await startDurablePostgres();
  onEnd(() => postgres.stop());
  // As the command does.
  const database = await openDatabase({
    kind: "server",
    url: postgres.url,
    poolSize: LANES,
    statementTimeoutMs: 0,
  });
  onEnd(() => database.close());
  const startedMs = performance.now();
  const seeded = await seed(database, pace);
  const requests = pace.months * pace.requestsPerMonth;
  print(
    `${requests} requests of ${pace.accounts} accounts, ${await sizeOf(database)}, filled in ${secondsSince(startedMs)} s`,
  );
  const ledger = new LedgerService(database);
  await verifyAll(ledger, print);
  for (const [n, count] of [0, ...pace.added].entries()) {
    const times: number[] = [];
    for (let round = 0; round < pace.rounds; round++) {
      const month = monthsAgo(pace.months + 1 + n * pace.rounds + round);
      if (count > 0) await fillMonth(database, month, { seeded, requests: count });
      const beganMs = performance.now();
      const found = await ledger.verifyNew();
      times.push(performance.now() - beganMs);
      if (found?.faults.length !== 0 || found.transfers !== count)
        throw new Error(`not what was added: ${JSON.stringify(found)}`);
    }
    const sorted = times.toSorted((one, other) => one - other);
    print(
      `  ${String(count).padStart(6)} new: ${quantile(sorted, 0.5).toFixed(0)} ms, at most ${sorted.at(-1)?.toFixed(0)} ms`,
    );
  }
}

/** Months of settled requests with their transfers, sums of usage, and the statistics that autovacuum would have. */
async function seed(database: Database, pace: VerifyPace): Promise<readonly Seeded[]> {
  const seeded: Seeded[] = [];
  const lane = async () => {
    while (seeded.length < pace.accounts) {
      const place = seeded.push({ account: "", keyId: "", secret: "" }) - 1;
      seeded[place] = await seedAccount(database, NEURON);
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  for (let month = pace.months; month > 0; month--)
    await fillMonth(database, monthsAgo(month), { seeded, requests: pace.requestsPerMonth });
  await database.rows("vacuum analyze");
  await new UsageRollups({ database, log: createLogger("silent") }).sweep(1);
  return seeded;
}

async function verifyAll(ledger: LedgerService, print: (line: string) => void): Promise<void> {
  const beganMs = performance.now();
  let lastMs = beganMs;
  const checks: { readonly what: string; readonly tookMs: number }[] = [];
  const { faults, entries } = await ledger.verify((_done, _total, what) => {
    checks.push({ what, tookMs: performance.now() - lastMs });
    lastMs = performance.now();
  });
  if (faults.length > 0) throw new Error(`the ledger has faults: ${JSON.stringify(faults.slice(0, 3))}`);
  print(`  full: ${secondsSince(beganMs)} s for ${entries} entries in ${checks.length} checks; the slowest:`);
  for (const { what, tookMs } of checks.toSorted((one, other) => other.tookMs - one.tookMs).slice(0, SLOWEST))
    print(`    ${(tookMs / 1_000).toFixed(1)} s  ${what}`);
}

async function sizeOf(database: Database): Promise<string> {
  const [row] = await database.rows<{ size: string }>(
    "select pg_size_pretty(pg_database_size(current_database())) as size",
  );
  return row?.size ?? "";
}

function secondsSince(beganMs: number): string {
  return ((performance.now() - beganMs) / 1_000).toFixed(1);
}
