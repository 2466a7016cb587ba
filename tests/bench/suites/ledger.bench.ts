import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HoldsService } from "../../../src/accounts/holds.service.ts";
import { type HoldRequest, placeHold } from "../../../src/accounts/holds.store.ts";
import { findLedgerFaults } from "../../../src/accounts/ledger-checks.store.ts";
import { resolveHolds, type Settlement } from "../../../src/accounts/settlements.store.ts";
import type { Database } from "../../../src/db/database.ts";
import { openDatabase } from "../../../src/db/open.ts";
import { createLogger } from "../../../src/kernel/log.ts";
import { requestFor, settlementOf } from "../../support/admissions.ts";
import { type Seeded, seedAccount } from "../../support/seed.ts";
import type { OnEnd } from "../../support/servers/database.ts";
import { startDurablePostgres } from "../durable-postgres.ts";
import { entityManagerHolds } from "../ledger-entities.ts";
import { quantile } from "../load.ts";

/** One way to hold and settle money. */
type Way = {
  readonly name: string;
  hold(request: HoldRequest): Promise<unknown>;
  settle(settlement: Settlement, request: HoldRequest): Promise<unknown>;
};
type Round = { readonly perSecond: number; readonly p50Ms: number };

const IN_FLIGHT = [1, 16, 64] as const;
const ACCOUNTS = 64;
const FORTUNE_NEURON = 10n ** 30n;
const POOL_SIZE = 10;

/**
 * Admissions and settlements as the product makes them, against the same statements one by one and against an
 * entity manager, on both databases, in turn. A pair is a hold and its settlement, each committed. Returns a
 * Markdown table: medians over the rounds; ratios are taken within a round.
 */
export async function benchLedger(
  pace: { readonly rounds: number; readonly durationMs: number },
  onEnd: OnEnd,
): Promise<string> {
  const tables: string[] = [];
  for (const kind of ["server", "embedded"] as const) {
    const database = await open(kind, onEnd);
    const accounts: Seeded[] = [];
    for (let n = 0; n < ACCOUNTS; n++) accounts.push(await seedAccount(database, FORTUNE_NEURON));
    const ways = implementationsOn(database, onEnd);
    for (const way of ways) await runLoad(way, accounts, 16, Math.min(500, pace.durationMs));
    const rounds = new Map<string, Round[]>();
    for (let round = 0; round < pace.rounds; round++)
      for (const inFlight of IN_FLIGHT)
        for (const way of [...ways.slice(round % ways.length), ...ways.slice(0, round % ways.length)]) {
          const key = `${inFlight} ${way.name}`;
          const measured = await runLoad(way, accounts, inFlight, pace.durationMs);
          rounds.set(key, [...(rounds.get(key) ?? []), measured]);
        }
    const faults = await findLedgerFaults(database);
    if (faults.length > 0)
      throw new Error(`the ledger is inconsistent: ${JSON.stringify(faults.slice(0, 3))}`);
    tables.push(toTable(kind === "server" ? "PostgreSQL with fsync" : "PGlite", ways, rounds));
  }
  return tables.join("\n");
}

async function open(kind: "server" | "embedded", onEnd: OnEnd): Promise<Database> {
  if (kind === "server") {
    const postgres = await startDurablePostgres();
    onEnd(() => postgres.stop());
    const database = await openDatabase({ kind, url: postgres.url, poolSize: POOL_SIZE });
    onEnd(() => database.close());
    return database;
  }
  const path = await mkdtemp(join(tmpdir(), "zerograph-ledger-"));
  onEnd(() => rm(path, { recursive: true, force: true }));
  const database = await openDatabase({ kind: "folder", path });
  onEnd(() => database.close());
  return database;
}

function implementationsOn(database: Database, onEnd: OnEnd): readonly Way[] {
  const batched = new HoldsService({ database, log: createLogger("silent"), committed: () => {} });
  onEnd(() => batched.stop());
  return [
    {
      name: "batched (zerograph)",
      hold: (request) => batched.hold(request),
      settle: (end) => batched.settle(end),
    },
    {
      name: "one statement each",
      hold: (request) => placeHold(database, request),
      settle: (end) => resolveHolds(database, [end]),
    },
    { name: "entity manager", ...entityManagerHolds(database) },
  ];
}

async function runLoad(
  way: Way,
  accounts: readonly Seeded[],
  inFlight: number,
  durationMs: number,
): Promise<Round> {
  const latencies: number[] = [];
  const startedMs = performance.now();
  const worker = async (first: number) => {
    for (let turn = first; performance.now() - startedMs < durationMs; turn += inFlight) {
      const beganMs = performance.now();
      const seeded = accounts[turn % accounts.length];
      if (!seeded) throw new Error("there is no account");
      const request = requestFor(seeded, 500n);
      await way.hold(request);
      await way.settle(settlementOf(request.id, 350n), request);
      latencies.push(performance.now() - beganMs);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, (_, first) => worker(first)));
  const perSecond = latencies.length / ((performance.now() - startedMs) / 1_000);
  return { perSecond, p50Ms: median(latencies) };
}

function toTable(title: string, ways: readonly Way[], rounds: ReadonlyMap<string, readonly Round[]>): string {
  const lines = [
    "",
    `**hold + settle, ${title}, ${ACCOUNTS} accounts**`,
    "",
    `| | ${IN_FLIGHT.map((n) => `${n} in flight: pairs/s | x one each | x entity manager | p50 ms`).join(" | ")} |`,
    `|---|${"---:|".repeat(4 * IN_FLIGHT.length)}`,
  ];
  for (const way of ways) {
    const cells = IN_FLIGHT.flatMap((n) => {
      const [mine = [], ...others] = [way.name, ...ways.slice(1).map(({ name }) => name)].map(
        (name) => rounds.get(`${n} ${name}`) ?? [],
      );
      const ratios = others.map((theirs) =>
        median(
          mine.map(({ perSecond }, round) => perSecond / (theirs[round]?.perSecond ?? Number.NaN)),
        ).toFixed(2),
      );
      const perSecond = Math.round(median(mine.map((round) => round.perSecond)));
      return [perSecond, ...ratios, median(mine.map(({ p50Ms }) => p50Ms)).toFixed(2)];
    });
    lines.push(`| ${way.name} | ${cells.join(" | ")} |`);
  }
  return lines.join("\n");
}

function median(values: readonly number[]): number {
  return quantile(
    values.toSorted((a, b) => a - b),
    0.5,
  );
}
