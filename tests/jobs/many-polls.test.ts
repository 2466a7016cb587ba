// @module-tag medium
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../src/kernel/clock.ts";
import { done, startJobBroker } from "../support/chain/job-broker.ts";
import { openJobWorld } from "../support/inference/image-jobs.ts";
import type { OnEnd } from "../support/servers/database.ts";
import { until } from "../support/until.ts";

const POLL_GAP_MS = 61_000;

test("a provider that refuses polls for minutes keeps the job, which is not submitted again", async () => {
  const onEnd = onTestFinished as OnEnd;
  const broker = await startJobBroker(onEnd, {
    poll: (n) =>
      n < 5
        ? { status: 429, body: { error: { message: "slow down" } }, headers: { "retry-after": "0" } }
        : done(),
  });
  const monotonicMs = () => systemClock.monotonicMs() + broker.polls * POLL_GAP_MS;
  const world = await openJobWorld("embedded", onEnd, [broker], { clock: { ...systemClock, monotonicMs } });
  const seeded = await world.seed();
  const id = await world.submit(seeded);
  world.startWorker();
  const job = await until(async () => {
    const found = await world.jobs.get(seeded, id);
    return found.finishedAt !== null && found;
  });
  expect(job).toMatchObject({ state: "completed", step: { attempt: 1 } });
  expect(broker.submissions).toHaveLength(1);
});
