// @module-tag medium
import { expect, onTestFinished, test, vi } from "vitest";
import { BalanceService } from "../../src/accounts/balance.service.ts";
import { AppError } from "../../src/kernel/errors.ts";
import { PIXEL, startJobBroker, working } from "../support/chain/job-broker.ts";
import { IMAGE_PRICES, openJobWorld } from "../support/inference/image-jobs.ts";
import type { OnEnd } from "../support/servers/database.ts";
import { until } from "../support/until.ts";

const MONEY = 10_000n;
const onEnd = onTestFinished as OnEnd;
const RESULT = { created: 7, data: [{ b64_json: PIXEL }] };

/** A world in which a job of a new account was committed, but the answer of the database to that was lost. */
async function submitUnanswered({ isBegun }: { readonly isBegun: boolean }) {
  const state = { isDone: false };
  const broker = await startJobBroker(onEnd, {
    poll: () => (state.isDone ? { status: 200, body: { status: "completed", data: RESULT } } : working()),
  });
  const world = await openJobWorld("embedded", onEnd, [broker]);
  const seeded = await world.seed(MONEY);
  if (isBegun) world.startWorker();
  const { transaction } = world.database;
  const transactions = vi.spyOn(world.database, "transaction").mockImplementationOnce(async (work) => {
    await transaction.call(world.database, work);
    if (isBegun) await until(() => broker.polls > 0);
    throw new AppError("unavailable", "The database is unreachable. Try again later.");
  });
  onTestFinished(() => transactions.mockRestore());
  await expect(world.submit(seeded)).rejects.toMatchObject({ code: "unavailable" });
  const { rows } = await world.jobs.list(seeded, { first: 10 });
  const [job] = rows;
  if (!job) throw new Error("the job was not committed");
  const balance = () => new BalanceService(world.database).byAccount(seeded.account);
  return { world, seeded, broker, state, job, balance, transactions };
}

test("a job whose submission got no answer is cancelled with its hold before a worker begins it", async () => {
  const { world, seeded, broker, job, balance } = await submitUnanswered({ isBegun: false });
  await until(async () => (await balance()).held === 0n);
  expect(await world.jobs.get(seeded, job.id)).toMatchObject({ state: "cancelled" });
  world.startWorker();
  await world.submit(seeded);
  await until(() => broker.polls > 0);
  expect(broker.submissions).toHaveLength(1);
});

test("one that a worker has begun keeps its hold, and is charged when it ends", async () => {
  const { world, seeded, state, job, balance, transactions } = await submitUnanswered({ isBegun: true });
  // The submission, and the attempt to withdraw it.
  await until(() => transactions.mock.settledResults.filter(({ type }) => type !== "incomplete").length > 1);
  expect((await balance()).held).toBe(IMAGE_PRICES[0]);
  state.isDone = true;
  await until(async () => (await world.jobs.get(seeded, job.id)).state === "completed");
  expect(await balance()).toMatchObject({ held: 0n, total: MONEY - IMAGE_PRICES[0] });
});

test("images that a provider returned at once are stored when the database is back, and not made again", async () => {
  const broker = await startJobBroker(onEnd, { submission: () => ({ status: 200, body: RESULT }) });
  const world = await openJobWorld("embedded", onEnd, [broker]);
  const seeded = await world.seed(MONEY);
  const id = await world.submit(seeded);
  const unavailable = new AppError("unavailable", "The database is unreachable. Try again later.");
  const transactions = vi.spyOn(world.database, "transaction").mockRejectedValueOnce(unavailable);
  transactions.mockRejectedValueOnce(unavailable);
  onTestFinished(() => transactions.mockRestore());
  world.startWorker({ restSeconds: 1 });
  await until(async () => (await world.jobs.get(seeded, id)).state === "completed");
  expect(broker.submissions).toHaveLength(1);
  expect(await new BalanceService(world.database).byAccount(seeded.account)).toMatchObject({
    held: 0n,
    total: MONEY - IMAGE_PRICES[0],
  });
});
