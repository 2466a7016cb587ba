// @module-tag large
import { expect, onTestFinished, test } from "vitest";
import { BalanceService } from "../../src/accounts/balance.service.ts";
import { HoldsService } from "../../src/accounts/holds.service.ts";
import { LedgerService } from "../../src/accounts/ledger.service.ts";
import { NameJobKeys } from "../../src/db/migrations/17-job-keys.ts";
import { forgetResults } from "../../src/jobs/job-view.store.ts";
import { createLogger } from "../../src/kernel/log.ts";
import { type BrokerScript, done, PIXEL, startJobBroker, working } from "../support/chain/job-broker.ts";
import { IMAGE_PRICES, type JobWorld, openJobWorld } from "../support/inference/image-jobs.ts";
import type { Seeded } from "../support/seed.ts";
import { type DatabaseKind, describeDatabases, type OnEnd } from "../support/servers/database.ts";
import { until } from "../support/until.ts";

const MONEY = 10_000n;
const onEnd = onTestFinished as OnEnd;

async function open(kind: DatabaseKind, ...scripts: readonly BrokerScript[]) {
  const brokers = await Promise.all(scripts.map((script) => startJobBroker(onEnd, script)));
  const world = await openJobWorld(kind, onEnd, brokers);
  return { world, brokers, seeded: await world.seed(MONEY) };
}

/** Waits for the end of a job and returns it. */
function ended({ jobs }: JobWorld, { account }: Seeded, id: string) {
  return until(async () => {
    const job = await jobs.get({ account }, id);
    return job.finishedAt !== null && job;
  });
}

/** The balance of an account, after checking that it has no holds and that the ledger is consistent. */
async function left({ database }: JobWorld, { account }: Seeded): Promise<bigint> {
  const { held, total } = await new BalanceService(database).byAccount(account);
  expect(held).toBe(0n);
  expect(await new LedgerService(database).verify()).toMatchObject({ faults: [], openHolds: 0 });
  return total;
}

/** Every published step of a job, in order. */
async function stepsOf({ database }: JobWorld, id: string) {
  type Row = { step: string; status: string; seq: number; attempt: number };
  return database.rows<Row>(
    `select data ->> 'step' as step, data ->> 'status' as status, (data ->> 'sequence')::int as seq,
      (data ->> 'attempt')::int as attempt
    from outbox where topic = 'job.progressed' and data ->> 'jobId' = $1::text order by outbox.id`,
    [id],
  );
}

describeDatabases("image jobs", (kind) => {
  test("a job is held for, submitted, polled and charged once, however often it is read", async () => {
    const { world, brokers, seeded } = await open(kind, {});
    const id = await world.submit(seeded, { images: 2 });
    expect(await new BalanceService(world.database).byAccount(seeded.account)).toMatchObject({
      held: IMAGE_PRICES[0] * 2n,
    });
    expect(await world.jobs.get(seeded, id)).toMatchObject({ state: "pending" });
    world.startWorker();
    await ended(world, seeded, id);
    const looks = await Promise.all(Array.from({ length: 5 }, () => world.results.outcome(seeded, id)));
    for (const { job, result, trace } of looks) {
      expect(job.state).toBe("completed");
      expect(JSON.parse(result ?? "")).toEqual({ created: 7, data: [{ b64_json: PIXEL }] });
      expect(trace).toEqual({
        request_id: `async-${world.addresses[0]?.slice(2, 10)}-${id}`,
        provider: world.addresses[0],
        billing: { input_cost: "0", output_cost: "100", total_cost: "100" },
      });
    }
    // Two images were requested and one was delivered: one is charged.
    expect(await left(world, seeded)).toBe(MONEY - IMAGE_PRICES[0]);
    expect(brokers[0]?.submissions).toMatchObject([{ path: "/v1/async/images/generations" }]);
    expect(brokers[0]?.submissions[0]?.headers.authorization).toBe("Bearer app-sk-test");
    const steps = await stepsOf(world, id);
    expect(steps.map(({ step }) => step)).toEqual(["queued", "started", "submitted", "running", "completed"]);
    expect(steps.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5]);
  });

  test("a result that finds no free thread is parsed later, and is not fetched again", async () => {
    const broker = await startJobBroker(onEnd, { poll: () => done() });
    const world = await openJobWorld(kind, onEnd, [broker], { busyReads: 2 });
    const seeded = await world.seed(MONEY);
    const id = await world.submit(seeded);
    world.startWorker();
    expect(await ended(world, seeded, id)).toMatchObject({ state: "completed" });
    expect([broker.submissions.length, broker.polls]).toEqual([1, 1]);
    expect(await left(world, seeded)).toBe(MONEY - IMAGE_PRICES[0]);
  });

  test("without balance no job is created, and nothing is sent", async () => {
    const { world, brokers } = await open(kind, {});
    const poor = await world.seed(99n);
    await expect(world.submit(poor)).rejects.toMatchObject({ code: "insufficient_balance" });
    world.startWorker();
    expect((await world.jobs.list(poor, { first: 10 })).rows).toEqual([]);
    expect(brokers[0]?.submissions).toEqual([]);
    expect(await left(world, poor)).toBe(99n);
  });

  test("a failing provider is skipped, and the next is paid at its own price", async () => {
    const broken = { submission: () => ({ status: 500, body: { error: "Provider: out of memory" } }) };
    const { world, brokers, seeded } = await open(kind, broken, {});
    const id = await world.submit(seeded);
    world.startWorker();
    const job = await ended(world, seeded, id);
    expect(job).toMatchObject({ state: "completed", step: { provider: world.addresses[1], attempt: 2 } });
    expect(brokers.map(({ submissions }) => submissions.length)).toEqual([1, 1]);
    expect(await left(world, seeded)).toBe(MONEY - IMAGE_PRICES[1]);
  });

  test.each<[string, BrokerScript]>([
    [
      "reports a failure",
      { poll: () => ({ status: 200, body: { status: "failed", errorMessage: "sk-0123456789 broke" } }) },
    ],
    ["has lost the job", { poll: () => ({ status: 404, body: { error: "Provider: job not found" } }) }],
    [
      "says that it is not our job",
      { poll: () => ({ status: 403, body: { error: "Provider: not yours" } }) },
    ],
    [
      "completes without images",
      { poll: () => ({ status: 200, body: { status: "completed", data: { data: [] } } }) },
    ],
    [
      "completes with a url",
      { poll: () => ({ status: 200, body: { status: "completed", data: { data: [{ url: "http://x" }] } } }) },
    ],
    [
      "completes with data that is not base64",
      { poll: () => ({ status: 200, body: { status: "completed", data: { data: [{ b64_json: "<b>" }] } } }) },
    ],
    ["accepts without an id", { submission: () => ({ status: 202, body: { status: "pending" } }) }],
    ["answers with a page", { submission: () => ({ status: 200, body: "<html>" }) }],
    ["refuses our credential", { submission: () => ({ status: 401, body: { error: "Provider: who?" } }) }],
  ])("a provider that %s costs nothing, and the next one is tried", async (_, script) => {
    const { world, seeded } = await open(kind, script, {});
    const id = await world.submit(seeded);
    world.startWorker();
    const job = await ended(world, seeded, id);
    expect(job).toMatchObject({ state: "completed", step: { provider: world.addresses[1] } });
    expect(await left(world, seeded)).toBe(MONEY - IMAGE_PRICES[1]);
  });

  test("when all providers fail the job fails, with a reason and without a charge or a secret", async () => {
    const failing = {
      submission: () => ({ status: 202, body: { jobId: "x" }, headers: { "retry-after": "0" } }),
      poll: () => ({ status: 200, body: { status: "failed", errorMessage: "sk-0123456789 broke" } }),
    };
    const { world, brokers, seeded } = await open(kind, failing);
    brokers[0]?.jobs.push({ id: "x", key: "x-1", body: Buffer.alloc(0), polls: 0 });
    const id = await world.submit(seeded);
    world.startWorker();
    const job = await ended(world, seeded, id);
    expect(job).toMatchObject({
      state: "failed",
      step: { errorCode: "provider_error", errorMessage: "The provider failed: sk-[redacted] broke" },
    });
    expect(brokers[0]?.submissions).toHaveLength(3);
    expect(await left(world, seeded)).toBe(MONEY);
    const content = await world.database.rows("select 1 from job_content where id = $1::uuid", [id]);
    expect(content).toEqual([]);
  });

  test("an error that blames the request ends the job without trying another provider, and its reason is returned", async () => {
    const blaming = { submission: () => ({ status: 400, body: { error: "Provider: no such size" } }) };
    const { world, brokers, seeded } = await open(kind, blaming, {});
    const id = await world.submit(seeded);
    world.startWorker();
    expect(await ended(world, seeded, id)).toMatchObject({
      state: "failed",
      step: { errorCode: "invalid_body", errorMessage: expect.stringContaining("no such size") },
    });
    expect(brokers[1]?.submissions).toEqual([]);
    expect(await left(world, seeded)).toBe(MONEY);
  });

  test("a job whose provider does not answer in time ends at its deadline, without a charge", async () => {
    const silent = await startJobBroker(onEnd, { submission: () => "silent" });
    const world = await openJobWorld(kind, onEnd, [silent], { deadlineSeconds: 3 });
    const seeded = await world.seed(MONEY);
    const id = await world.submit(seeded);
    world.startWorker();
    const { step, finishedAt, createdAt } = await ended(world, seeded, id);
    expect(step).toMatchObject({ status: "failed", errorMessage: "The job took too long.", attempt: 1 });
    expect(silent.submissions).toHaveLength(1);
    expect(Number(finishedAt) - Number(createdAt)).toBeGreaterThanOrEqual(3_000);
    expect(await left(world, seeded)).toBe(MONEY);
  });

  test("Retry-After is honoured, from a busy provider and between two polls", async () => {
    const sentMs: number[] = [];
    const polledMs: number[] = [];
    const slow: BrokerScript = {
      submission(n) {
        sentMs.push(performance.now());
        if (n > 0) return undefined;
        return { status: 503, body: { error: "Provider: queue full" }, headers: { "retry-after": "1" } };
      },
      poll(n) {
        polledMs.push(performance.now());
        return n === 0 ? working(undefined, "1") : done();
      },
    };
    const { world, seeded } = await open(kind, slow);
    const id = await world.submit(seeded);
    world.startWorker();
    expect(await ended(world, seeded, id)).toMatchObject({ state: "completed" });
    expect((sentMs[1] ?? 0) - (sentMs[0] ?? 0)).toBeGreaterThan(990);
    expect((polledMs[1] ?? 0) - (polledMs[0] ?? 0)).toBeGreaterThan(990);
  });

  test("a provider that is briefly unreachable is polled again, and the job is not submitted twice", async () => {
    const flaky: BrokerScript = {
      poll: (n) =>
        n === 0 ? { status: 502, body: "<h1>bad gateway</h1>", headers: { "retry-after": "0" } } : done(),
    };
    const { world, brokers, seeded } = await open(kind, flaky);
    const id = await world.submit(seeded);
    world.startWorker();
    expect(await ended(world, seeded, id)).toMatchObject({ state: "completed", step: { attempt: 1 } });
    expect(brokers[0]?.submissions).toHaveLength(1);
  });

  test("a pending job can be cancelled once, and its hold is released; a running job cannot be cancelled", async () => {
    const { world, brokers, seeded } = await open(kind, { poll: () => working() });
    const id = await world.submit(seeded);
    const cancelled = await Promise.all([1, 2, 3].map(() => world.cancellation.cancel(seeded, id)));
    for (const job of cancelled) expect(job.state).toBe("cancelled");
    expect(await left(world, seeded)).toBe(MONEY);
    world.startWorker();
    const running = await world.submit(seeded);
    await until(() => brokers[0]?.polls !== 0);
    await expect(world.cancellation.cancel(seeded, running)).rejects.toMatchObject({
      code: "async_job_not_pending",
    });
    const stranger = await world.seed();
    await expect(world.cancellation.cancel(stranger, running)).rejects.toMatchObject({
      code: "async_job_not_found",
    });
    expect(brokers[0]?.submissions).toHaveLength(1);
    expect((await stepsOf(world, id)).map(({ step }) => step)).toEqual(["queued", "cancelled"]);
    if (brokers[0]) brokers[0].script = {};
    await ended(world, seeded, running);
    await expect(world.cancellation.cancel(seeded, running)).rejects.toMatchObject({
      code: "async_job_not_pending",
    });
  });

  test("a job that cannot be inserted leaves no hold, and its submission can be repeated", async () => {
    const { world, seeded } = await open(kind, {});
    const { database } = world;
    await database.rows("alter table job_content rename to away");
    await expect(world.submit(seeded)).rejects.toThrow();
    await database.rows("alter table away rename to job_content");
    const counts =
      "select (select count(*)::int from hold) as holds, (select count(*)::int from inference_request) as requests";
    expect(await database.rows(counts)).toEqual([{ holds: 0, requests: 0 }]);
    expect(await left(world, seeded)).toBe(MONEY);
    expect(await world.jobs.get(seeded, await world.submit(seeded))).toMatchObject({ state: "pending" });
  });

  test("a submission under settings of its key that were changed chooses again, and refusals leave no job", async () => {
    const { world, seeded } = await open(kind, {}, {});
    const { database, addresses } = world;
    const providerOf = async (id: string) => (await world.jobs.get(seeded, id)).step.provider;
    expect(await providerOf(await world.submit(seeded))).toBe(addresses[0]);
    const restrict = (changes: string) =>
      database.rows(`update api_key set ${changes}, terms_version = terms_version + 1`);
    await restrict(`allowed_providers = jsonb_build_array('${addresses[1]}')`);
    expect(await providerOf(await world.submit(seeded))).toBe(addresses[1]);
    await restrict(`allowed_models = '["other"]'`);
    await expect(world.submit(seeded)).rejects.toMatchObject({ code: "access_denied" });
    await restrict(`allowed_models = '[]', credit_limit = ${IMAGE_PRICES[0] + IMAGE_PRICES[1]}`);
    await expect(world.submit(seeded)).rejects.toMatchObject({ code: "credit_limit_exceeded" });
    await restrict("credit_limit = null");
    const poor = await world.seed(IMAGE_PRICES[0] - 1n);
    await expect(world.submit(poor)).rejects.toMatchObject({ code: "insufficient_balance" });
    await database.rows("update api_key set revoked_at = now()");
    await expect(world.submit(seeded)).rejects.toMatchObject({ code: "api_key_revoked" });
    expect(await database.rows("select count(*)::int as jobs from job")).toEqual([{ jobs: 2 }]);
  });

  test("either the claim or the cancellation of a job wins: a cancelled job is never submitted", async () => {
    const { world, brokers, seeded } = await open(kind, {});
    world.startWorker({ pollMs: 5 });
    const ids = await Promise.all(Array.from({ length: 10 }, () => world.submit(seeded)));
    const verdicts = await Promise.allSettled(ids.map((id) => world.cancellation.cancel(seeded, id)));
    await Promise.all(ids.map((id) => ended(world, seeded, id)));
    const cancelled = verdicts.filter(({ status }) => status === "fulfilled").length;
    // A submission that a busy machine keeps waiting is repeated, with the key of its job.
    const submitted = new Set(brokers[0]?.submissions.map(({ headers }) => headers["idempotency-key"]));
    expect(submitted.size).toBe(10 - cancelled);
    expect(await left(world, seeded)).toBe(MONEY - BigInt(10 - cancelled) * IMAGE_PRICES[0]);
  });

  test("a job past its deadline fails without a charge, also when its hold expired first", async () => {
    const { world, brokers, seeded } = await open(kind, { poll: () => working() });
    const [late, released] = [await world.submit(seeded), await world.submit(seeded)];
    world.startWorker();
    await until(() => brokers[0]?.jobs.length === 2);
    await world.database.rows(
      "update hold set expires_at = now() - interval '1 second' where id = (select request_id from job where id = $1::uuid)",
      [released],
    );
    const holds = new HoldsService({
      database: world.database,
      log: createLogger("silent"),
      committed: () => {},
    });
    expect(await holds.sweep()).toBe(1);
    if (brokers[0])
      brokers[0].script = { poll: (_, { key }) => (key === `${released}-1` ? done() : working()) };
    expect(await ended(world, seeded, released)).toMatchObject({ state: "failed" });
    expect((await world.results.outcome(seeded, released)).result).toBeUndefined();
    expect(await world.jobs.get(seeded, late)).toMatchObject({ state: "processing" });
    if (brokers[0]) brokers[0].script = {};
    await ended(world, seeded, late);
    expect(await left(world, seeded)).toBe(MONEY - IMAGE_PRICES[0]);
  });

  test("jobs of the previous version belong to their keys after the upgrade, and while its processes still run", async () => {
    const { world, seeded } = await open(kind, {});
    const { database, jobs } = world;
    const [before, beside] = [await world.submit(seeded), await world.submit(seeded)];
    world.startWorker();
    for (const id of [before, beside]) await ended(world, seeded, id);
    const downgrade = [
      "drop trigger job_names_key on job",
      "drop function job_names_key",
      "alter table job drop column api_key_id",
      "alter table job disable trigger job_goes_forward",
      "update job set step = step - 'keyId'",
      "alter table job enable trigger job_goes_forward",
      "update outbox set data = data - 'keyId' where topic = 'job.progressed'",
    ];
    for (const statement of downgrade) await database.rows(statement);
    const migration = new NameJobKeys(undefined as never, undefined as never);
    migration.up();
    for (const statement of migration.getQueries()) await database.rows(String(statement));
    expect(await jobs.get(seeded, before)).toMatchObject({
      keyId: seeded.keyId,
      step: { keyId: seeded.keyId },
    });
    const events = await database.rows<{ key: string | null }>(
      "select data ->> 'keyId' as key from outbox where topic = 'job.progressed'",
    );
    expect(new Set(events.map(({ key }) => key))).toEqual(new Set([seeded.keyId]));
    await database.rows("create table earlier (like job)");
    await database.rows("insert into earlier select * from job where id = $1::uuid", [beside]);
    await database.rows("update earlier set api_key_id = null, step = step - 'keyId'");
    await database.rows("delete from job where id = $1::uuid", [beside]);
    await database.rows("insert into job select * from earlier");
    await database.rows("drop table earlier");
    expect(await jobs.get(seeded, beside)).toMatchObject({
      keyId: seeded.keyId,
      step: { keyId: seeded.keyId },
    });
  });

  test("a result is kept for its retention time, and the job stays in the list", async () => {
    const { world, seeded } = await open(kind, {});
    const id = await world.submit(seeded);
    world.startWorker();
    const job = await ended(world, seeded, id);
    expect(job.resultExpiresAt?.getTime()).toBeGreaterThan(Date.now() + 3_500_000);
    expect(await forgetResults(world.database, 10)).toBe(0);
    await world.database.rows(
      "update job_content set expires_at = now() - interval '1 second' where id = $1::uuid",
      [id],
    );
    expect((await world.results.outcome(seeded, id)).result).toBeUndefined();
    expect(await forgetResults(world.database, 10)).toBe(1);
    const { rows } = await world.jobs.list(seeded, { first: 10 });
    expect(rows).toMatchObject([{ id, state: "completed", resultExpiresAt: null }]);
  });
});
