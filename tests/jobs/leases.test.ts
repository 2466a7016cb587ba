// @module-tag medium
import { expect, onTestFinished, test } from "vitest";
import { LedgerService } from "../../src/accounts/ledger.service.ts";
import type { Database } from "../../src/db/database.ts";
import { claimJobs, releaseForRetry, renewLeases } from "../../src/jobs/job-claims.store.ts";
import { JobLease, LeaseLost } from "../../src/jobs/lease.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { type BrokerScript, done, startJobBroker, working } from "../support/chain/job-broker.ts";
import { IMAGE_PRICES, openJobWorld } from "../support/inference/image-jobs.ts";
import { scaled } from "../support/machine.ts";
import { type DatabaseKind, describeDatabases, type OnEnd } from "../support/servers/database.ts";
import { until } from "../support/until.ts";

const onEnd = onTestFinished as OnEnd;
const CLAIM = { kind: "image", limit: 10, bodyBytes: 1_048_576, leaseSeconds: 20 } as const;

async function open(kind: DatabaseKind, script: BrokerScript = {}) {
  const broker = await startJobBroker(onEnd, script);
  const world = await openJobWorld(kind, onEnd, [broker]);
  return { world, broker, seeded: await world.seed(10_000n) };
}

/** The effect of leases that are not renewed in time. */
async function expireLeases(database: Database): Promise<void> {
  await database.rows(
    "update job set leased_until = now() - interval '1 second' where state = 'processing' and leased_until > now()",
  );
}

describeDatabases("leases", (kind) => {
  test("of many workers that claim at once, each job goes to one", async () => {
    const { world, seeded } = await open(kind);
    const ids = await Promise.all(Array.from({ length: 12 }, () => world.submit(seeded)));
    const claims = await Promise.all(
      Array.from({ length: 6 }, () => claimJobs(world.database, { ...CLAIM, limit: 3 })),
    );
    const claimed = claims.flat().map(({ id }) => id);
    expect(claimed.toSorted()).toEqual(ids.toSorted());
    expect(await claimJobs(world.database, CLAIM)).toEqual([]);
  });

  test("a worker takes jobs until their bodies have a size, and the next ones when some have ended", async () => {
    let isDone = false;
    const { world, broker, seeded } = await open(kind, { poll: () => (isDone ? done() : working()) });
    const body = Buffer.from(
      JSON.stringify({ model: "test-images", prompt: "the sea", filler: "x".repeat(1_048_576) }),
    );
    const ids: string[] = [];
    for (let n = 0; n < 12; n++) ids.push(await world.submit(seeded, { body }));
    const worker = world.startWorker({ pollMs: 20 }, 16, 5 * body.length);
    await until(() => broker.polls > 20);
    expect([worker.running, broker.submissions.length]).toEqual([5, 5]);
    // Those that were left are for any worker.
    expect(await claimJobs(world.database, { ...CLAIM, bodyBytes: body.length })).toMatchObject([
      { id: ids[5] },
    ]);
    isDone = true;
    const left = ids.filter((id) => id !== ids[5]);
    await until(async () => {
      const jobs = await Promise.all(left.map((id) => world.jobs.get(seeded, id)));
      return jobs.every(({ state }) => state === "completed");
    });
  });

  test("a renewed lease is kept, and an expired one passes to another worker with a greater fence", async () => {
    const { world, seeded } = await open(kind);
    await world.submit(seeded);
    const [first] = await claimJobs(world.database, CLAIM);
    if (!first) throw new Error("nothing was claimed");
    expect(await renewLeases(world.database, [first], 20)).toEqual(new Set([first.id]));
    await expireLeases(world.database);
    const [second] = await claimJobs(world.database, CLAIM);
    expect(second).toMatchObject({ id: first.id, fence: first.fence + 1, step: { step: "resumed" } });
    expect(await renewLeases(world.database, [first], 20)).toEqual(new Set());
  });

  test("a job whose work keeps failing is retried ever more rarely and publishes nothing, until it has progress", async () => {
    const { world, seeded } = await open(kind);
    const { database } = world;
    const id = await world.submit(seeded);
    const published = async () =>
      (await database.rows("select 1 from outbox where data ->> 'jobId' = $1::text", [id])).length;
    for (const [attempt, restSeconds] of [5, 10, 20, 40, 60, 60].entries()) {
      const [claimed] = await claimJobs(database, CLAIM);
      if (!claimed) throw new Error("nothing was claimed");
      expect(claimed).toMatchObject({ fence: attempt + 1, step: { step: "started", status: "processing" } });
      expect(claimed.checkpoint).not.toHaveProperty("retries");
      await releaseForRetry(database, claimed, 5);
      const [row] = await database.rows<{ since_claim: number; from_now: number }>(
        `select extract(epoch from leased_until - updated_at)::float8 as since_claim,
           extract(epoch from leased_until - now())::float8 as from_now from job where id = $1::uuid`,
        [id],
      );
      expect(row?.from_now).toBeLessThanOrEqual(restSeconds);
      expect(row?.since_claim).toBeGreaterThanOrEqual(restSeconds);
      await expireLeases(database);
    }
    expect(await published()).toBe(2);
    const [last] = await claimJobs(database, CLAIM);
    if (!last) throw new Error("nothing was claimed");
    await new JobLease({ database, clock: systemClock, committed: () => {} }, last, 20_000).save({});
    await expireLeases(database);
    expect(await claimJobs(database, CLAIM)).toMatchObject([{ id, step: { step: "resumed" } }]);
    expect(await published()).toBe(3);
  });

  test("a retry is not later than the end of the job", async () => {
    const { world, seeded } = await open(kind);
    const { database } = world;
    await world.submit(seeded);
    await database.rows(
      "update job set checkpoint = checkpoint || '{\"retries\": 9}', deadline = now() + interval '7 seconds'",
    );
    const [claimed] = await claimJobs(database, CLAIM);
    if (!claimed) throw new Error("nothing was claimed");
    await releaseForRetry(database, claimed, 5);
    expect(
      await database.rows(
        "select leased_until <= greatest(deadline, now() + interval '5 seconds') as bounded from job",
      ),
    ).toEqual([{ bounded: true }]);
  });

  test("a worker that lost its lease can write nothing: no checkpoint, no step, no end, no charge", async () => {
    const { world, seeded } = await open(kind);
    const id = await world.submit(seeded);
    const [first] = await claimJobs(world.database, CLAIM);
    if (!first) throw new Error("nothing was claimed");
    const loser = new JobLease(
      { database: world.database, clock: systemClock, committed: () => {} },
      first,
      20_000,
    );
    await expireLeases(world.database);
    await claimJobs(world.database, CLAIM);
    const before = await world.jobs.get(seeded, id);
    await expect(loser.save({ failures: 9 })).rejects.toBeInstanceOf(LeaseLost);
    await expect(loser.advance({}, { step: "running" })).rejects.toBeInstanceOf(LeaseLost);
    await expect(
      loser.end(async () => {
        throw new Error("this must not be reached");
      }),
    ).rejects.toBeInstanceOf(LeaseLost);
    expect(loser.signal.aborted).toBe(true);
    expect(await world.jobs.get(seeded, id)).toEqual(before);
  });

  test("no write moves a job backwards", async () => {
    const { world, seeded } = await open(kind);
    const id = await world.submit(seeded);
    await world.cancellation.cancel(seeded, id);
    for (const state of ["pending", "processing", "completed"])
      await expect(
        world.database.rows("update job set state = $2::text where id = $1::uuid", [id, state]),
      ).rejects.toThrow();
    expect(await world.jobs.get(seeded, id)).toMatchObject({ state: "cancelled" });
  });

  test("a job of a hung worker passes to another; it is charged once though both have the result", async () => {
    const { world, broker, seeded } = await open(kind, { poll: () => working() });
    const id = await world.submit(seeded);
    world.startWorker({ renewMs: 3_600_000, pollMs: 20 });
    await until(() => broker.polls > 0);
    world.startWorker({ renewMs: 3_600_000, pollMs: 20 });
    await expireLeases(world.database);
    await until(async () => {
      const rows = await world.database.rows("select 1 from job where id = $1::uuid and fence = 2", [id]);
      return rows.length === 1;
    });
    broker.script = { poll: () => done() };
    await until(async () => (await world.jobs.get(seeded, id)).state === "completed");
    expect(broker.submissions).toHaveLength(1);
    const [row] = await world.database.rows<{ paid: string; times: number }>(
      `select sum(amount)::text as paid, count(*)::int as times from ledger_entry
       where book = 'revenue' and transfer_id like 'settle:async-%'`,
    );
    expect(row).toEqual({ paid: String(IMAGE_PRICES[0]), times: 1 });
    expect(await new LedgerService(world.database).verify()).toMatchObject({ faults: [], openHolds: 0 });
  });

  test("a worker notices at its next renewal that another one has its job, even if its own clock stood still", async () => {
    const { world, broker, seeded } = await open(kind, { poll: () => working() });
    await world.submit(seeded);
    const worker = world.startWorker({ leaseSeconds: 3_600, renewMs: 20, pollMs: 3_600_000 });
    await until(() => broker.polls > 0);
    await until(async () => {
      await expireLeases(world.database);
      return (await claimJobs(world.database, CLAIM)).length === 1;
    });
    await until(() => worker.running === 0);
  });

  test("a job whose worker dies between submission and its record is submitted once more, and never a third time", async () => {
    const { world, broker, seeded } = await open(kind, { submission: () => "silent" });
    const id = await world.submit(seeded);
    for (const sent of [1, 2]) {
      const worker = world.startWorker({ pollMs: 20 });
      await until(() => broker.submissions.length === sent);
      // Stopped before an answer arrived: the job may have been submitted, and the record says no more.
      await worker.stop();
    }
    broker.script = {};
    world.startWorker({ pollMs: 20 });
    await until(async () => (await world.jobs.get(seeded, id)).finishedAt !== null);
    expect(await world.jobs.get(seeded, id)).toMatchObject({
      state: "completed",
      // The third submission is a new attempt with a new idempotency key.
      step: { attempt: 2 },
    });
    const keys = broker.submissions.map(({ headers }) => headers["idempotency-key"]);
    // Another test's process may still call the previous owner of this port.
    expect(keys.filter((key) => key !== undefined)).toEqual([`${id}-1`, `${id}-1`, `${id}-2`]);
  });

  test("a worker takes jobs up to its limit, and the others wait for it", async () => {
    const { world, broker, seeded } = await open(kind, { poll: () => working() });
    const ids = await Promise.all(Array.from({ length: 5 }, () => world.submit(seeded)));
    const worker = world.startWorker({ pollMs: 20 }, 2);
    await until(() => broker.jobs.length === 2);
    expect(worker.running).toBe(2);
    const { rows } = await world.jobs.list(seeded, { first: 10 }, { filter: { states: ["pending"] } });
    expect(rows).toHaveLength(3);
    broker.script = {};
    await until(async () =>
      (await Promise.all(ids.map((id) => world.jobs.get(seeded, id)))).every(
        ({ state }) => state === "completed",
      ),
    );
  });

  test("a worker is notified of a job submitted in another process, and claims it at once instead of at its next poll", async () => {
    const broker = await startJobBroker(onEnd);
    const world = await openJobWorld(kind, onEnd, [broker], { isOneProcess: false });
    const seeded = await world.seed(10_000n);
    const worker = world.startWorker({ pollMs: 3_600_000 });
    for (let n = 1; n <= 2; n++) {
      const id = await world.submit(seeded);
      await until(async () => (await world.jobs.get(seeded, id)).state === "completed");
    }
    await worker.stop();
    expect(broker.submissions).toHaveLength(2);
  });

  test("a worker that is stopped releases its jobs, and another continues each at once from its checkpoint", async () => {
    const { world, broker, seeded } = await open(kind, { poll: () => working(0.25) });
    const id = await world.submit(seeded);
    const first = world.startWorker({ pollMs: 20 });
    await until(async () => (await world.jobs.get(seeded, id)).step.fraction === 0.25);
    await first.stop();
    broker.script = {};
    const stoppedMs = performance.now();
    world.startWorker({ pollMs: 20 });
    await until(async () => (await world.jobs.get(seeded, id)).state === "completed");
    expect(performance.now() - stoppedMs).toBeLessThan(scaled(10_000));
    expect(broker.submissions).toHaveLength(1);
  });
});
