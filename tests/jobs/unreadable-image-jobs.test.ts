import { expect, onTestFinished, test } from "vitest";
import { BalanceService } from "../../src/accounts/balance.service.ts";
import { startJobBroker } from "../support/chain/job-broker.ts";
import { openJobWorld } from "../support/inference/image-jobs.ts";
import type { OnEnd } from "../support/servers/database.ts";
import { until } from "../support/until.ts";

const onEnd = onTestFinished as OnEnd;

test("a job whose request is not accepted any more, as after an upgrade, fails and releases its hold", async () => {
  const broker = await startJobBroker(onEnd);
  const world = await openJobWorld("embedded", onEnd, [broker]);
  const seeded = await world.seed(10_000n);
  const id = await world.submit(seeded);
  await world.database.rows(
    "update job_content set request = convert_to('{\"model\":1}', 'utf8') where id = $1::uuid",
    [id],
  );
  world.startWorker();
  const job = await until(async () => {
    const now = await world.jobs.get(seeded, id);
    return now.finishedAt !== null && now;
  });
  expect(job).toMatchObject({ state: "failed", step: { errorCode: "invalid_body" } });
  expect(broker.submissions).toEqual([]);
  expect(await new BalanceService(world.database).byAccount(seeded.account)).toMatchObject({
    held: 0n,
    total: 10_000n,
  });
});
