import { expect, test } from "vitest";
import { HoldsService } from "../../src/accounts/holds.service.ts";
import { ClientFilesService } from "../../src/client-files/client-files.service.ts";
import { FileCipher } from "../../src/client-files/file-cipher.ts";
import { MemoryBus } from "../../src/events/bus.memory.ts";
import { EventsService } from "../../src/events/events.service.ts";
import { batchWork } from "../../src/inference/batches/batch.runner.ts";
import { BATCH_JOB } from "../../src/inference/batches/batch.ts";
import { INPUT_LIMITS } from "../../src/inference/batches/batch-input.ts";
import { beginLine } from "../../src/inference/batches/batch-lines.store.ts";
import { BatchesService } from "../../src/inference/batches/batches.service.ts";
import { LineLedger } from "../../src/inference/batches/line-ledger.ts";
import { claimJobs, releaseLease } from "../../src/jobs/job-claims.store.ts";
import { JobsService } from "../../src/jobs/jobs.service.ts";
import { JobLease } from "../../src/jobs/lease.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { createLogger } from "../../src/kernel/log.ts";
import { requestFor, settlementOf } from "../support/admissions.ts";
import { inputOf, numbers } from "../support/batches/batch-world.ts";
import { TEST_CURSORS } from "../support/cursors.ts";
import { seedAccount } from "../support/seed.ts";
import { openTestDatabase } from "../support/servers/database.ts";

const LINES = 150;
const log = createLogger("silent");
const committed = () => {};

/** A batch of embeddings, and workers that claim it. A line costs 1 neuron. */
async function openBatch() {
  const database = await openTestDatabase();
  const owner = await seedAccount(database, 10_000n);
  const settings = { maxBytes: 1_000_000, quotaBytes: 10_000_000, retentionSeconds: 3_600 };
  const files = new ClientFilesService({ database, cipher: new FileCipher("deployment"), settings });
  const upload = await files.begin(owner, { filename: "input.jsonl" });
  const url = "/v1/embeddings";
  const body = { model: "model-1", input: "text" };
  const lines = numbers(LINES).map((n) => ({ custom_id: `${n}`, method: "POST", url, body }));
  await upload.write(Buffer.from(inputOf(lines)));
  const { id: inputFileId } = await upload.finish();
  const events = new EventsService(database, new MemoryBus(), TEST_CURSORS);
  const jobs = new JobsService({ database, events, kind: BATCH_JOB });
  const batches = new BatchesService({ database, files, jobs, submitted: () => {}, committed });
  const { id } = await batches.create(owner, { inputFileId, endpoint: url, metadata: null });
  const holds = new HoldsService({ database, log, committed });
  const ledger = new LineLedger({ database, holds, committed });
  const claim = async () => {
    const [job] = await claimJobs(database, {
      kind: BATCH_JOB,
      limit: 1,
      bodyBytes: 1_048_576,
      leaseSeconds: 60,
    });
    if (!job) throw new Error("the batch was not claimed");
    return new JobLease({ database, clock: systemClock, committed }, job, 60_000);
  };
  const work = (lease: JobLease, send: (requestId: string) => Promise<void>, isSending = true) =>
    batchWork({
      ...{ database, files, ledger, clock: systemClock, log, limits: INPUT_LIMITS },
      catalogue: { model: () => ({}) as never },
      slots: {
        async acquire() {
          if (isSending) return () => {};
          lease.interrupt();
          return undefined;
        },
      },
      requests: {
        async run(_endpoint, _body, { requestId }) {
          await send(requestId);
          return {} as never;
        },
      },
    })(lease);
  return { database, owner, id, batches, holds, ledger, claim, work };
}

test("a line that a dead worker sent behind many lines that wait is released before anything is sent", async () => {
  const { database, owner, id, batches, holds, ledger, claim, work } = await openBatch();
  const first = await claim();
  await work(first, async () => {}, false);
  // As a worker leaves it that runs many lines at once, and waits to send most of them again.
  const lost = requestFor(owner, 5n);
  await holds.commit(lost, () =>
    database.transaction(async (tx) => {
      await holds.holdIn(tx, lost);
      expect(await beginLine(tx, id, LINES - 5, lost.id)).toBe("begun");
    }),
  );
  await releaseLease(database, first.job);
  const states: unknown[] = [];
  await work(await claim(), async (requestId) => {
    states.push(...(await database.rows("select state from hold where id = $1", [lost.id])));
    await ledger.hold(requestFor(owner, 1n, { id: requestId }));
    await ledger.settle(settlementOf(requestId, 1n), async () => Buffer.from("{}"));
  });
  expect(states).toEqual(numbers(LINES).map(() => ({ state: "released" })));
  expect(await batches.get(owner, id)).toMatchObject({ status: "completed", completed: LINES, failed: 0 });
});
