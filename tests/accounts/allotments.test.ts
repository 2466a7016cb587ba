import { expect, onTestFinished, test, vi } from "vitest";
import { BalanceService } from "../../src/accounts/balance.service.ts";
import { HoldsService } from "../../src/accounts/holds.service.ts";
import { findLedgerFaults } from "../../src/accounts/ledger-checks.store.ts";
import type { Database } from "../../src/db/database.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { ClientLeftError } from "../../src/kernel/errors.ts";
import { createLogger } from "../../src/kernel/log.ts";
import { ApiKeyService } from "../../src/keys/api-keys/api-key.service.ts";
import { requestFor, settlementOf } from "../support/admissions.ts";
import { seedAccount } from "../support/seed.ts";
import { describeDatabases, openTestDatabase } from "../support/servers/database.ts";
import { until } from "../support/until.ts";

const log = createLogger("silent");
const OFFER = { model: "model-1", provider: "0x00000000000000000000000000000000000000aa" };

/** A clock that the test moves; it sleeps in real time. */
function testClock() {
  const clock = {
    nowMs: 0,
    now: () => new Date(clock.nowMs),
    monotonicMs: () => clock.nowMs,
    sleep: systemClock.sleep,
  };
  return clock;
}

/** A process whose beats the test makes. */
function drivenOn(database: Database, clock = testClock()): HoldsService {
  return new HoldsService({ database, clock, log, committed: () => {}, isTimed: false });
}

/** A process as in production, but without a bus: it reads recalls every half second. */
function processOn(database: Database): HoldsService {
  const holds = new HoldsService({ database, log, committed: () => {} });
  onTestFinished(() => holds.stop());
  return holds;
}

function keysOn(database: Database): ApiKeyService {
  return new ApiKeyService({ database, clock: systemClock, committed: () => {} });
}

async function open(kind: "embedded" | "server", neuron = 100_000n) {
  const database = await openTestDatabase(kind);
  const clock = testClock();
  const holds = drivenOn(database, clock);
  const seeded = await seedAccount(database, neuron);
  const admit = async () => {
    const request = requestFor(seeded, 5n);
    await holds.hold(request);
    return request;
  };
  return { database, holds, clock, seeded, admit };
}

/** Of 100 neuron, 40 were taken by a process which used 10 of them, and holds the rest until it beats. */
async function openWithUnused(kind: "embedded" | "server") {
  const database = await openTestDatabase(kind);
  const seeded = await seedAccount(database, 100n);
  const holder = drivenOn(database);
  const first = requestFor(seeded, 40n);
  await holder.hold(first);
  await holder.settle(settlementOf(first.id, 10n));
  return { database, seeded, holder };
}

async function balanceOf(database: Database, account: string) {
  const [balance] = await new BalanceService(database).byAccounts([account]);
  if (!balance) throw new Error("there is no balance");
  return balance;
}

async function countStatements(database: Database, work: () => Promise<unknown>): Promise<number> {
  const rows = vi.spyOn(database, "rows");
  try {
    await work();
    return rows.mock.calls.length;
  } finally {
    rows.mockRestore();
  }
}

function listedIn(database: Database) {
  return database.rows<{ id: string; status: string; model: string; provider: string; age: number }>(
    `select id, status, model, provider, round(extract(epoch from coalesce(finished_at, now()) - created_at))::int as age
     from inference_request order by created_at`,
  );
}

let endings = 0;

/** The lease of a process that was killed: over, as two looks of the sweeper find it. */
async function endLeases(database: Database): Promise<void> {
  // PGlite's clock has milliseconds: leases that end in the same one would be taken for one.
  await database.rows("update process_lease set expires_at = now() - $1::int * interval '1 second'", [
    ++endings,
  ]);
}

describeDatabases("an allotment", (kind) => {
  test("admits further requests of its key without a statement, while the lease lasts", async () => {
    const { database, holds, clock, admit } = await open(kind);
    expect(await countStatements(database, admit)).toBe(1);
    expect(await countStatements(database, admit)).toBe(1);
    await holds.beat();
    expect(await countStatements(database, admit)).toBe(0);
    clock.nowMs += 1_699;
    expect(await countStatements(database, admit)).toBe(0);
    clock.nowMs += 1;
    expect(await countStatements(database, admit)).toBe(1);
    await holds.beat();
    expect(await countStatements(database, admit)).toBe(0);
  });

  test("does not admit after the machine slept, although its monotonic clock stood still", async () => {
    const { database, holds, clock, admit } = await open(kind);
    for (let n = 0; n < 3; n++) await admit();
    await holds.beat();
    clock.now = () => new Date(clock.nowMs + 60_000);
    expect(await countStatements(database, admit)).toBe(1);
  });

  test("takes at most an eighth of what is left in advance, and returns what is idle", async () => {
    const { database, holds, clock, seeded, admit } = await open(kind, 1_000n);
    const requests = [await admit()];
    for (let n = 0; n < 20; n++) {
      const { held, available } = await balanceOf(database, seeded.account);
      expect(held - BigInt(requests.length) * 5n).toBeLessThanOrEqual((available + held) / 8n);
      requests.push(await admit());
    }
    await holds.beat();
    for (const { id } of requests.slice(1)) await holds.settle(settlementOf(id, 2n));
    clock.nowMs += 1_999;
    await holds.beat();
    expect((await balanceOf(database, seeded.account)).held).toBeGreaterThan(5n);
    clock.nowMs += 1;
    await holds.beat();
    expect(await balanceOf(database, seeded.account)).toMatchObject({ held: 5n, total: 960n });
    for (const { id } of requests.slice(0, 1)) await holds.settle(settlementOf(id, 2n));
    expect(await balanceOf(database, seeded.account)).toMatchObject({ held: 0n, total: 958n });
    expect(await database.rows("select 1 from allotment")).toEqual([]);
    expect(await findLedgerFaults(database)).toEqual([]);
  });

  test("of another process is recalled before a request is refused, and what is in progress stays covered", async () => {
    const database = await openTestDatabase(kind);
    const seeded = await seedAccount(database, 100n);
    const [one, other] = [processOn(database), processOn(database)];
    const first = requestFor(seeded, 40n);
    await one.hold(first);
    await one.settle(settlementOf(first.id, 10n));
    const running = requestFor(seeded, 20n);
    await one.hold(running);
    const last = requestFor(seeded, 70n);
    expect(await other.hold(last)).toBe(70n);
    await expect(one.hold(requestFor(seeded, 1n))).rejects.toMatchObject({ code: "insufficient_balance" });
    expect(await one.settle(settlementOf(running.id, 20n))).toBe(20n);
    expect(await other.settle(settlementOf(last.id, 70n))).toBe(70n);
    expect(await balanceOf(database, seeded.account)).toMatchObject({ total: 0n, held: 0n });
    expect(await findLedgerFaults(database)).toEqual([]);
  });

  test("of a process that is slow to return it is waited for, and the request is admitted", async () => {
    const { database, seeded, holder: slow } = await openWithUnused(kind);
    const other = processOn(database);
    const statements = vi.spyOn(database, "rows");
    onTestFinished(() => statements.mockRestore());
    const waiting = other.hold(requestFor(seeded, 90n));
    // More recalls than one request used to wait for.
    await until(
      () => statements.mock.calls.filter(([text]) => text.includes("allotment.recalled")).length > 4,
    );
    await slow.beat();
    expect(await waiting).toBe(90n);
    await expect(other.hold(requestFor(seeded, 1n))).rejects.toMatchObject({ code: "insufficient_balance" });
    expect(await findLedgerFaults(database)).toEqual([]);
  });

  test("of a process that never returns it ends the wait as unavailable, and not as insufficient_balance", async () => {
    const { database, seeded, holder: stopped } = await openWithUnused(kind);
    const clock = testClock();
    const other = drivenOn(database, clock);
    let refusal: unknown;
    void other.hold(requestFor(seeded, 90n)).catch((error: unknown) => {
      refusal = error;
    });
    await until(() => {
      clock.nowMs += 500;
      return refusal !== undefined;
    });
    expect(refusal).toMatchObject({ code: "unavailable", retryAfterSeconds: 5 });
    expect(clock.nowMs).toBeGreaterThanOrEqual(15_000);
    await stopped.beat();
    expect(await other.hold(requestFor(seeded, 90n))).toBe(90n);
    expect(await findLedgerFaults(database)).toEqual([]);
  });

  test("of a process that never returns it is not waited for any longer when the client leaves", async () => {
    const { database, seeded } = await openWithUnused(kind);
    // Time stands still for the process that waits.
    const other = drivenOn(database);
    const statements = vi.spyOn(database, "rows");
    onTestFinished(() => statements.mockRestore());
    const client = new AbortController();
    const waiting = other.hold(requestFor(seeded, 90n), client.signal);
    await until(() => statements.mock.calls.some(([text]) => text.includes("allotment.recalled")));
    client.abort();
    await expect(waiting).rejects.toBeInstanceOf(ClientLeftError);
    expect(await findLedgerFaults(database)).toEqual([]);
  });

  test("of another key of the account, in this process, is recalled as well", async () => {
    const database = await openTestDatabase(kind);
    const seeded = await seedAccount(database, 100n);
    const { key } = await keysOn(database).create(seeded.account, "another");
    const holds = processOn(database);
    const first = requestFor(seeded, 50n);
    await holds.hold(first);
    await holds.settle(settlementOf(first.id, 1n));
    expect(await holds.hold(requestFor({ ...seeded, keyId: key.id }, 99n))).toBe(99n);
  });

  test("is recalled for a hold of its own, too", async () => {
    const database = await openTestDatabase(kind);
    const seeded = await seedAccount(database, 100n);
    const holds = processOn(database);
    const first = requestFor(seeded, 50n);
    await holds.hold(first);
    await holds.settle(settlementOf(first.id, 1n));
    const job = requestFor(seeded, 99n);
    const placed = () => database.transaction((tx) => holds.holdIn(tx, job));
    expect(await holds.commit(job, placed)).toBe(99n);
    expect(await findLedgerFaults(database)).toEqual([]);
  });

  test("pays nothing by the earlier terms of its key once a change of them is answered", async () => {
    const { database, holds, seeded, admit } = await open(kind);
    for (let n = 0; n < 4; n++) await admit();
    await holds.beat();
    expect(await countStatements(database, admit)).toBe(0);
    const keys = keysOn(database);
    let isDone = false;
    const revoked = keys.revoke(seeded.account, seeded.keyId).then(() => {
      isDone = true;
    });
    await until(
      async () => (await database.rows("select 1 from allotment where state = 'recalled'")).length > 0,
    );
    expect(isDone).toBe(false);
    await holds.beat();
    await revoked;
    await expect(admit()).rejects.toMatchObject({ code: "api_key_revoked" });
    expect(await findLedgerFaults(database)).toEqual([]);
  });

  test("pays nothing by the earlier terms of its key once a repeated change of them is answered", async () => {
    const { database, holds, seeded, admit } = await open(kind);
    for (let n = 0; n < 4; n++) await admit();
    await holds.beat();
    let commits = 0;
    const keys = new ApiKeyService({ database, clock: systemClock, committed: () => void commits++ });
    const answered: string[] = [];
    const change = async (which: string) => {
      await keys.update(seeded.account, seeded.keyId, { allowedModels: ["another"] });
      answered.push(which);
    };
    const first = change("first");
    await until(() => commits === 1);
    const second = change("second");
    await until(() => commits === 2);
    // Without a wait, it would read the key and be answered by now.
    for (let n = 0; n < 4; n++) await keys.byIds([seeded.keyId]);
    expect(answered).toEqual([]);
    await holds.beat();
    await Promise.all([first, second]);
    expect(await findLedgerFaults(database)).toEqual([]);
  });

  test("of a process that is stopped delays a revocation until its lease is over, and is not used after it", async () => {
    const { database, holds, clock, seeded, admit } = await open(kind);
    for (let n = 0; n < 4; n++) await admit();
    await holds.beat();
    const beganMs = performance.now();
    await keysOn(database).revoke(seeded.account, seeded.keyId);
    expect(performance.now() - beganMs).toBeGreaterThan(1_900);
    // Its own clock kept running meanwhile.
    clock.nowMs += 2_000;
    await expect(admit()).rejects.toMatchObject({ code: "api_key_revoked" });
  });

  test("of a process that died is released after two looks, and its requests fail uncharged", async () => {
    const { database, holds, clock, seeded, admit } = await open(kind, 1_000n);
    const request = await admit();
    clock.nowMs += 1_000;
    await holds.beat();
    await endLeases(database);
    const sweeperClock = testClock();
    const sweeper = drivenOn(database, sweeperClock);
    expect(await sweeper.sweep()).toBe(0);
    sweeperClock.nowMs = 3_999;
    expect(await sweeper.sweep()).toBe(0);
    sweeperClock.nowMs = 4_000;
    expect(await sweeper.sweep()).toBe(1);
    expect(await balanceOf(database, seeded.account)).toMatchObject({ held: 0n, available: 1_000n });
    expect(await listedIn(database)).toMatchObject([{ id: request.id, status: "failed" }]);
    expect(await database.rows("select 1 from process_lease")).toEqual([]);
    expect(await findLedgerFaults(database)).toEqual([]);
  });

  test("is kept by a process that renews its lease after an outage of the database", async () => {
    const { database, holds, seeded, admit } = await open(kind, 1_000n);
    await admit();
    await holds.beat();
    await endLeases(database);
    const sweeperClock = testClock();
    const sweeper = drivenOn(database, sweeperClock);
    await sweeper.sweep();
    await holds.beat();
    await endLeases(database);
    sweeperClock.nowMs = 5_000;
    expect(await sweeper.sweep()).toBe(0);
    expect((await balanceOf(database, seeded.account)).held).toBeGreaterThan(0n);
  });

  test("that was released while its process only slept: its requests are charged to the balance, once", async () => {
    const { database, holds, clock, seeded, admit } = await open(kind, 1_000n);
    const [listed, unlisted] = [await admit(), requestFor(seeded, 995n)];
    clock.nowMs += 1_000;
    await holds.beat();
    await holds.hold(unlisted);
    await endLeases(database);
    const sweeperClock = testClock();
    const sweeper = drivenOn(database, sweeperClock);
    await sweeper.sweep();
    sweeperClock.nowMs = 4_000;
    expect(await sweeper.sweep()).toBe(1);
    const other = drivenOn(database);
    const meanwhile = requestFor(seeded, 10n);
    await other.hold(meanwhile);
    await other.settle(settlementOf(meanwhile.id, 10n));
    await other.stop();
    expect(await holds.settle(settlementOf(listed.id, 5n))).toBe(5n);
    // 985 is left of the 995 that it had been granted: the rest is the router's loss.
    expect(await holds.settle(settlementOf(unlisted.id, 995n))).toBe(985n);
    expect(await holds.settle(settlementOf(unlisted.id, 995n))).toBe(0n);
    await holds.stop();
    expect(await balanceOf(database, seeded.account)).toMatchObject({ held: 0n, total: 0n });
    expect((await listedIn(database)).map(({ status }) => status)).toEqual([
      ...["completed", "completed", "completed"],
    ]);
    expect(await findLedgerFaults(database)).toEqual([]);
  });

  test("whose answer was lost is found by the next beat, and returned", async () => {
    const { database, holds, seeded, admit } = await open(kind, 1_000n);
    const rows = vi.spyOn(database, "rows");
    rows.mockImplementationOnce(async (sql, parameters) => {
      await database.pool.query({ text: sql, values: [...(parameters ?? [])] });
      throw new Error("the connection broke");
    });
    await expect(admit()).rejects.toThrow("the connection broke");
    rows.mockRestore();
    expect((await balanceOf(database, seeded.account)).held).toBeGreaterThan(0n);
    await holds.beat();
    expect(await balanceOf(database, seeded.account)).toMatchObject({ held: 0n, available: 1_000n });
    expect(await findLedgerFaults(database)).toEqual([]);
  });

  test.for([
    [true, false, 993n],
    [false, false, 993n],
    [true, true, 993n],
    [false, true, 996n],
  ] as const)(
    "a settlement without an answer (executed: %s) is repeated, and charges once, unless its client (undelivered: %s) was sent nothing",
    async ([isExecuted, isUndelivered, left]) => {
      const { database, holds, seeded, admit } = await open(kind, 1_000n);
      const [request, other] = [await admit(), await admit()];
      await holds.beat();
      const rows = vi.spyOn(database, "rows");
      rows.mockImplementationOnce(async (sql, parameters) => {
        if (isExecuted) await database.pool.query({ text: sql, values: [...(parameters ?? [])] });
        throw new Error("the connection broke");
      });
      const settlement = { ...settlementOf(request.id, 3n), isUndelivered };
      await expect(holds.settle(settlement)).rejects.toThrow("the connection broke");
      rows.mockRestore();
      // Until it is known what is left, nothing is admitted in memory.
      expect(await countStatements(database, admit)).toBe(1);
      await holds.beat();
      await holds.settle(settlementOf(other.id, 4n));
      expect((await balanceOf(database, seeded.account)).total).toBe(left);
      expect(await findLedgerFaults(database)).toEqual([]);
    },
  );

  test.for([true, false])(
    "a settlement without an answer (executed: %s) is repeated before a request is refused for want of its money",
    async (isExecuted) => {
      const { database, holds, seeded } = await open(kind, 10n);
      const whole = requestFor(seeded, 10n);
      await holds.hold(whole);
      const rows = vi.spyOn(database, "rows");
      rows.mockImplementationOnce(async (sql, parameters) => {
        if (isExecuted) await database.pool.query({ text: sql, values: [...(parameters ?? [])] });
        throw new Error("the connection broke");
      });
      await expect(holds.settle(settlementOf(whole.id, 3n))).rejects.toThrow("the connection broke");
      rows.mockRestore();
      const rest = requestFor(seeded, 7n);
      expect(await holds.hold(rest)).toBe(7n);
      await holds.settle(settlementOf(rest.id, 7n));
      await holds.beat();
      expect(await balanceOf(database, seeded.account)).toMatchObject({ held: 0n, total: 0n });
      expect(await findLedgerFaults(database)).toEqual([]);
    },
  );

  test("whose process stops before the end of a request could be recorded pays for it then", async () => {
    const { database, holds, seeded, admit } = await open(kind, 1_000n);
    const request = await admit();
    vi.spyOn(database, "rows").mockRejectedValueOnce(new Error("the connection broke"));
    await expect(holds.settle(settlementOf(request.id, 3n))).rejects.toThrow("the connection broke");
    await holds.stop();
    expect(await balanceOf(database, seeded.account)).toMatchObject({ held: 0n, total: 997n });
    expect(await listedIn(database)).toMatchObject([{ id: request.id, status: "completed" }]);
    expect(await findLedgerFaults(database)).toEqual([]);
  });

  test("admits a request although the statement fails for another key, whose request arrived with it", async () => {
    const { database, holds, seeded, admit } = await open(kind, 1_000n);
    const other = await seedAccount(database, 1_000n);
    const requests = [await admit()];
    await holds.beat();
    requests.push(await admit());
    const rows = vi.spyOn(database, "rows");
    const taking = admit();
    // These two wait for that statement. Then there is enough for the first, and not for the other.
    const covered = admit();
    const failing = holds.hold(requestFor(other, 5n));
    rows.mockRejectedValueOnce(new Error("the connection broke"));
    requests.push(await taking, await covered);
    await expect(failing).rejects.toThrow("the connection broke");
    rows.mockRestore();
    for (const { id } of requests) await holds.settle(settlementOf(id, 5n));
    await holds.returnUnused();
    expect(await balanceOf(database, seeded.account)).toMatchObject({ held: 0n, total: 980n });
    expect(await balanceOf(database, other.account)).toMatchObject({ held: 0n, total: 1_000n });
    expect(await findLedgerFaults(database)).toEqual([]);
  });

  test("pays for none of the requests that its process has forgotten after their time", async () => {
    const { database, holds, clock, seeded } = await open(kind, 1_000n);
    await holds.hold(requestFor(seeded, 5n, { expiresInSeconds: 60 }));
    clock.nowMs = 60_001;
    await holds.beat();
    expect(await balanceOf(database, seeded.account)).toMatchObject({ held: 0n, total: 1_000n });
    expect(await listedIn(database)).toMatchObject([{ status: "failed" }]);
  });
});

describeDatabases("a request that runs", (kind) => {
  test("for less than a second is recorded once, at its end, and began when it was admitted", async () => {
    const { database, holds, clock, admit } = await open(kind);
    const request = await admit();
    clock.nowMs = 999;
    await holds.beat();
    expect(await listedIn(database)).toEqual([]);
    await holds.settle(settlementOf(request.id, 3n, { durationMs: 999 }));
    const whole = { id: request.id, status: "completed", ...OFFER, age: 1 };
    expect(await listedIn(database)).toEqual([whole]);
  });

  test("for a second is listed as running, and recorded in the same row at its end", async () => {
    const { database, holds, clock, admit } = await open(kind);
    const first = await admit();
    clock.nowMs = 30_000;
    await admit();
    await holds.beat();
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

  test("is listed and settled at the same moment: it is completed, and never listed after its end", async () => {
    const { database, holds, clock, admit } = await open(kind);
    for (let round = 0; round < 20; round++) {
      const requests = await Promise.all(Array.from({ length: 10 }, admit));
      clock.nowMs += 2_000;
      const ends = requests.map((request) => () => holds.settle(settlementOf(request.id, 3n)));
      await Promise.all([holds.beat(), ...ends.slice(0, 5).map((end) => end())]);
      await Promise.all([...ends.slice(5).map((end) => end()), holds.beat()]);
    }
    const rows = await listedIn(database);
    expect(rows).toHaveLength(200);
    expect(rows.filter(({ status }) => status !== "completed")).toEqual([]);
    expect(await findLedgerFaults(database)).toEqual([]);
  });
});
