import { describe, expect, inject, test } from "vitest";
import { lockFilesOf } from "../../src/client-files/client-file.store.ts";
import { ClientFilesService } from "../../src/client-files/client-files.service.ts";
import { FileCipher } from "../../src/client-files/file-cipher.ts";
import { FileSweep } from "../../src/client-files/file-sweep.runner.ts";
import type { Transaction } from "../../src/db/database.ts";
import { MemoryBus } from "../../src/events/bus.memory.ts";
import { EventCursors } from "../../src/events/event-cursors.ts";
import { EventsService } from "../../src/events/events.service.ts";
import { IS_READ } from "../../src/inference/batches/batch.store.ts";
import { BATCH_JOB } from "../../src/inference/batches/batch.ts";
import { BatchesService } from "../../src/inference/batches/batches.service.ts";
import { JobsService } from "../../src/jobs/jobs.service.ts";
import { createLogger } from "../../src/kernel/log.ts";
import { seedAccount } from "../support/seed.ts";
import { openTestDatabase } from "../support/servers/database.ts";
import { until } from "../support/until.ts";

const settings = { maxBytes: 1_000_000, quotaBytes: 10_000_000, retentionSeconds: 3_600 };

/** An uploaded input of an account, and what creates a batch of it. */
async function openInput() {
  const database = await openTestDatabase("server");
  const owner = await seedAccount(database, 0n);
  const files = new ClientFilesService({ database, cipher: new FileCipher("deployment"), settings });
  const upload = await files.begin(owner, { filename: "input.jsonl" });
  await upload.write(Buffer.from("{}\n"));
  const input = await upload.finish();
  const events = new EventsService(database, new MemoryBus(), new EventCursors("s".repeat(32)));
  const batches = new BatchesService({
    ...{ database, files, submitted: () => {}, committed: () => {} },
    jobs: new JobsService({ database, events, kind: BATCH_JOB }),
  });
  const sweep = new FileSweep(database, createLogger("silent"), IS_READ);
  const request = { inputFileId: input.id, endpoint: "/v1/embeddings", metadata: null } as const;
  const create = () => batches.create(owner, request);
  const count = async (table: string) => (await database.rows(`select 1 from ${table}`)).length;
  /** Creates a batch, and does `work` while that waits for a lock which this transaction takes first. */
  const createWhile = (lock: (tx: Transaction) => Promise<unknown>, work: () => Promise<void>) =>
    database.transaction(async (tx) => {
      await lock(tx);
      const created = create().then(
        (batch) => batch.inputFileId,
        (error: unknown) => error,
      );
      await until(async () => (await database.rows("select 1 from pg_locks where not granted")).length > 0);
      await work();
      return () => created;
    });
  return { database, owner, files, batches, input, sweep, create, count, createWhile };
}

describe.skipIf(!inject("postgresUrl"))("the input of a batch", () => {
  test("that is deleted and removed while its batch is created is not found, and leaves no batch", async () => {
    const { owner, files, input, sweep, count, createWhile } = await openInput();
    const created = await createWhile(
      (tx) => lockFilesOf(tx, owner.account),
      async () => {
        await files.delete(owner, input.id);
        await sweep.sweep();
      },
    );
    expect(await created()).toMatchObject({ code: "file_not_found", param: "input_file_id" });
    expect([await count("batch"), await count("job"), await count("client_file")]).toEqual([0, 0, 0]);
  });

  test("that expires while its batch is created is kept for the batch", async () => {
    const { database, files, input, sweep, count, createWhile } = await openInput();
    await database.rows("update client_file set expires_at = now() + interval '4 seconds'");
    const created = await createWhile(
      (tx) => tx.rows("lock table job in share row exclusive mode"),
      async () => {
        await until(
          async () => (await database.rows("select 1 from client_file where expires_at < now()")).length > 0,
        );
        await sweep.sweep();
      },
    );
    expect(await created()).toBe(input.id);
    await sweep.sweep();
    expect(await count("client_file_part")).toBe(1);
    const { value } = await (await files.read(input.id)).parts().next();
    expect(String(value)).toBe("{}\n");
  });
});

describe.skipIf(!inject("postgresUrl"))("the files of a batch", () => {
  test("are refused to an account that has room for one of both only", async () => {
    const { database, create, count } = await openInput();
    await database.rows(`
      insert into client_file (id, account, api_key_id, purpose, filename, size_bytes, state, sealed_key, expires_at)
      select gen_random_uuid(), account, api_key_id, purpose, filename, 0, 'ready', sealed_key, expires_at
      from client_file cross join generate_series(1, 9998)`);
    await expect(create()).rejects.toMatchObject({ code: "storage_quota_exceeded" });
    await database.rows(
      "delete from client_file where id in (select id from client_file where size_bytes = 0 limit 1)",
    );
    await create();
    expect(await count("client_file")).toBe(10_000);
  });

  test("are stored as long as uploads at most, whatever the client asks", async () => {
    const { database, owner, batches, input } = await openInput();
    const request = { inputFileId: input.id, endpoint: "/v1/embeddings", metadata: null } as const;
    for (const outputSeconds of [3_599, 3_601]) await batches.create(owner, { ...request, outputSeconds });
    const stored = await database.rows(`
      select round(extract(epoch from expires_at - created_at))::int as seconds
      from client_file where purpose = 'batch_output' order by 1`);
    expect(stored).toEqual([3_599, 3_599, 3_600, 3_600].map((seconds) => ({ seconds })));
  });
});
