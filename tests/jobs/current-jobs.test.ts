// @module-tag medium
import { expect, onTestFinished, test } from "vitest";
import type { Database } from "../../src/db/database.ts";
import type { JobStep } from "../../src/events/topics.ts";
import { advanceJob } from "../../src/jobs/job.store.ts";
import { claimJobs } from "../../src/jobs/job-claims.store.ts";
import { startJobBroker } from "../support/chain/job-broker.ts";
import { openJobWorld } from "../support/inference/image-jobs.ts";
import { describeDatabases, type OnEnd } from "../support/servers/database.ts";

const onEnd = onTestFinished as OnEnd;

/** Lists jobs one list after the other, and calls `move` after the first. */
function moveAfterFirstList(database: Database, move: () => Promise<void>): void {
  const rows = database.rows.bind(database);
  let lists: Promise<unknown> = Promise.resolve();
  let pending: (() => Promise<void>) | undefined = move;
  let isMoving = false;
  // The database is lent to other tests afterwards.
  onTestFinished(() => void delete (database as Partial<Database>).rows);
  database.rows = <Row>(sql: string, parameters?: readonly unknown[]) => {
    if (isMoving || !sql.includes("left join job_content")) return rows<Row>(sql, parameters);
    const found = lists.then(async () => {
      const listed = await rows<Row>(sql, parameters);
      isMoving = true;
      await pending?.();
      pending = undefined;
      isMoving = false;
      return listed;
    });
    lists = found;
    return found;
  };
}

describeDatabases("current jobs", (kind) => {
  test("a job that moves on while a follower begins is followed step by step", async () => {
    const world = await openJobWorld(kind, onEnd, [await startJobBroker(onEnd)]);
    const seeded = await world.seed();
    const id = await world.submit(seeded);
    moveAfterFirstList(world.database, async () => {
      const [claimed] = await claimJobs(world.database, {
        kind: "image",
        limit: 1,
        bodyBytes: 1_048_576,
        leaseSeconds: 20,
      });
      if (!claimed) throw new Error("nothing was claimed");
      await advanceJob(world.database, claimed, {}, { step: "submitted" });
      await advanceJob(world.database, claimed, {}, { step: "running" });
    });
    const steps: JobStep[] = [];
    for await (const { data } of await world.jobs.followAll(seeded)) {
      steps.push(data);
      if (data.step === "running") break;
    }
    expect(steps.map(({ jobId, sequence }) => [jobId, sequence])).toEqual([1, 2, 3, 4].map((n) => [id, n]));
  });
});
