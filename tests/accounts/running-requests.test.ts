import { expect, test } from "vitest";
import { HoldsService } from "../../src/accounts/holds.service.ts";
import { findLedgerFaults } from "../../src/accounts/ledger.store.ts";
import { RunningRequests } from "../../src/accounts/running-requests.ts";
import { resolveHolds } from "../../src/accounts/settlements.store.ts";
import type { Database } from "../../src/db/database.ts";
import { createLogger } from "../../src/kernel/log.ts";
import { requestFor, settlementOf } from "../support/admissions.ts";
import { seedAccount } from "../support/seed.ts";
import { describeDatabases, openTestDatabase } from "../support/servers/database.ts";

const log = createLogger("silent");
const OFFER = { model: "model-1", provider: "0x00000000000000000000000000000000000000aa" };

async function open(kind: "embedded" | "server") {
  const database = await openTestDatabase(kind);
  const clock = { now: () => new Date(), nowMs: 0, monotonicMs: () => clock.nowMs };
  const holds = new HoldsService({ database, clock, log, committed: () => {} });
  const running = new RunningRequests({ queries: database, clock, log });
  const seeded = await seedAccount(database, 1_000n);
  /** Admits a request whose service lists it only when the test says so. */
  const admit = async () => {
    const request = requestFor(seeded, 5n);
    await holds.hold(request);
    running.add(request);
    return request;
  };
  return { database, holds, running, clock, seeded, admit };
}

function listedIn(database: Database) {
  return database.rows<{ id: string; status: string; model: string; provider: string; age: number }>(
    `select id, status, model, provider, round(extract(epoch from coalesce(finished_at, now()) - created_at))::int as age
     from inference_request order by created_at`,
  );
}

describeDatabases("a request that runs", (kind) => {
  test("for less than a second is recorded once, at its end, and began when it was admitted", async () => {
    const { database, holds, running, clock, admit } = await open(kind);
    const request = await admit();
    clock.nowMs = 999;
    await running.list();
    expect(await listedIn(database)).toEqual([]);
    await holds.settle(settlementOf(request.id, 3n, { durationMs: 999 }));
    const whole = { id: request.id, status: "completed", ...OFFER, age: 1 };
    expect(await listedIn(database)).toEqual([whole]);
  });

  test("for a second is listed as running, and recorded in the same row at its end", async () => {
    const { database, holds, running, clock, admit } = await open(kind);
    const first = await admit();
    clock.nowMs = 30_000;
    await admit();
    await running.list();
    const listed = { id: first.id, status: "running", ...OFFER, age: 30 };
    expect(await listedIn(database)).toEqual([listed]);
    const answeredBy = {
      provider: "0xother",
      inputPrice: 1n,
      outputPrice: 1n,
      trustMode: "standard",
    } as const;
    await holds.settle(settlementOf(first.id, 3n, { durationMs: 40_000, answeredBy }));
    const [ended] = await listedIn(database);
    expect(ended).toEqual({ ...listed, status: "completed", provider: "0xother" });
  });

  test("and whose process dies ends as failed when its hold expires, if it was listed", async () => {
    const { database, holds, running, clock, admit } = await open(kind);
    const listed = await admit();
    clock.nowMs = 5_000;
    await admit();
    await running.list();
    await database.rows("update hold set expires_at = now() - interval '1 second'");
    expect(await holds.sweep()).toBe(2);
    expect(await listedIn(database)).toMatchObject([{ id: listed.id, status: "failed" }]);
    expect(await findLedgerFaults(database)).toEqual([]);
  });

  test("is listed and settled at the same moment: it is completed, and never listed after its end", async () => {
    const { database, holds, running, clock, admit } = await open(kind);
    for (let round = 0; round < 20; round++) {
      const requests = await Promise.all(Array.from({ length: 10 }, admit));
      clock.nowMs += 2_000;
      const ends = requests.map((request) => () => holds.settle(settlementOf(request.id, 3n)));
      await Promise.all([running.list(), ...ends.slice(0, 5).map((end) => end())]);
      await Promise.all([...ends.slice(5).map((end) => end()), running.list()]);
    }
    const rows = await listedIn(database);
    expect(rows).toHaveLength(200);
    expect(rows.filter(({ status }) => status !== "completed")).toEqual([]);
    expect(await findLedgerFaults(database)).toEqual([]);
  });

  test("is not listed after another process has ended its hold", async () => {
    const { database, running, clock, admit } = await open(kind);
    const request = await admit();
    await resolveHolds(database, [settlementOf(request.id, 0n, { outcome: "failed" })]);
    clock.nowMs = 2_000;
    await running.list();
    expect(await listedIn(database)).toEqual([]);
  });
});
