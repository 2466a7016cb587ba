// @module-tag medium
import { expect, onTestFinished, test } from "vitest";
import { failedSettlement, resolveHolds } from "../../src/accounts/settlements.store.ts";
import { PIXEL, startJobBroker, working } from "../support/chain/job-broker.ts";
import { openJobWorld } from "../support/inference/image-jobs.ts";
import type { OnEnd } from "../support/servers/database.ts";
import { until } from "../support/until.ts";

const onEnd = onTestFinished as OnEnd;

test("a job whose hold expired is observed as failed, and any other as completed", async () => {
  let isDone = false;
  const result = { created: 7, data: [{ b64_json: PIXEL }] };
  const broker = await startJobBroker(onEnd, {
    poll: () => (isDone ? { status: 200, body: { status: "completed", data: result } } : working()),
  });
  const world = await openJobWorld("embedded", onEnd, [broker]);
  const seeded = await world.seed();
  const id = await world.submit(seeded);
  world.startWorker();
  await until(() => broker.polls > 0);
  const { requestId } = await world.jobs.get(seeded, id);
  await resolveHolds(world.database, [{ ...failedSettlement(requestId, "expired"), expired: true }]);
  isDone = true;
  const ended = await until(async () => {
    const job = await world.jobs.get(seeded, id);
    return job.finishedAt !== null && job;
  });
  expect(ended).toMatchObject({ state: "failed", step: { errorCode: "provider_error" } });
  await until(() => world.observed.length > 0);
  await world.submit(seeded);
  await until(() => world.observed.length > 1);
  expect(world.observed.map(({ outcome }) => outcome)).toEqual(["provider_error", "completed"]);
});
