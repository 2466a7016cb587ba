import { expect, onTestFinished, test } from "vitest";
import { ImageFilesRunner } from "../../src/inference/images/image-files.runner.ts";
import { createLogger } from "../../src/kernel/log.ts";
import { PIXEL, type Reply, startJobBroker } from "../support/chain/job-broker.ts";
import { type JobWorld, openJobWorld } from "../support/inference/image-jobs.ts";
import { describeDatabases, type OnEnd } from "../support/servers/database.ts";
import { until } from "../support/until.ts";

const onEnd = onTestFinished as OnEnd;

/** A prompt that has the maximum length after the first half of a character. */
const LONG = `${"x".repeat(31_999)}\u{1f30a}`;

describeDatabases("texts of images", (kind) => {
  test.each([
    ["a cut character", LONG, `${"x".repeat(31_999)}\ufffd`],
    ["half of a character", "the sea \ud83c", "the sea \ufffd"],
    ["U+0000", "the\u0000sea", "the\ufffdsea"],
  ])(
    "images are stored whose revised prompt has %s, and so are those after them",
    async (_, prompt, shown) => {
      const broker = await startJobBroker(onEnd, {
        poll: (_n, { id }) => answer(id === "broker-0" ? prompt : ""),
      });
      const world = await openJobWorld(kind, onEnd, [broker]);
      const seeded = await world.seed();
      world.startWorker();
      const first = await finished(world, seeded);
      const second = await finished(world, seeded);
      startStoring(world);
      await until(async () => (await filesOf(world)).length === 2);
      expect(new Set(await filesOf(world))).toEqual(new Set([`${first} waiting`, `${second} waiting`]));
      const [image] = (await world.results.images(await world.jobs.get(seeded, first))) ?? [];
      expect(image).toEqual({ b64_json: PIXEL, revised_prompt: shown });
    },
  );

  test("a result of an earlier version that the database cannot parse does not keep other images from being stored", async () => {
    const world = await openJobWorld(kind, onEnd, [await startJobBroker(onEnd)]);
    const seeded = await world.seed();
    world.startWorker();
    const first = await finished(world, seeded);
    const second = await finished(world, seeded);
    const result = `{"created":7,"data":[{"b64_json":"${PIXEL}","revised_prompt":"\\ud83c"}]}`;
    await world.database.rows("update job_content set result = $2::text where id = $1::uuid", [
      first,
      result,
    ]);
    startStoring(world);
    await until(async () => (await filesOf(world)).length === 2);
    expect(new Set(await filesOf(world))).toEqual(new Set([`${first} failed`, `${second} waiting`]));
  });
});

function answer(revised_prompt: string): Reply {
  const data = { created: 7, data: [{ b64_json: PIXEL, revised_prompt }] };
  return { status: 200, body: { status: "completed", data } };
}

/** Runs a job to its end. */
async function finished(world: JobWorld, seeded: Awaited<ReturnType<JobWorld["seed"]>>): Promise<string> {
  const id = await world.submit(seeded);
  const job = await until(async () => {
    const now = await world.jobs.get(seeded, id);
    return now.finishedAt !== null && now;
  });
  expect(job.state).toBe("completed");
  return id;
}

/** Starts to store images. There is no storage node, so that they wait for one. */
function startStoring({ database }: JobWorld): void {
  const away = async () => {
    throw new Error("there is no storage");
  };
  const runner = new ImageFilesRunner({
    ...{ queries: database, log: createLogger("silent"), pollMs: 20 },
    uploads: { rootOf: async () => `0x${"1".repeat(64)}`, prepare: away, put: away },
    sender: { address: `0x${"2".repeat(40)}` } as never,
  });
  onEnd(() => runner.stop());
  runner.start();
}

/** The images that are recorded, with their states. */
async function filesOf({ database }: JobWorld): Promise<readonly string[]> {
  type Row = { readonly job_id: string; readonly state: string };
  const rows = await database.rows<Row>("select job_id::text as job_id, state from image_file");
  return rows.map(({ job_id, state }) => `${job_id} ${state}`);
}
