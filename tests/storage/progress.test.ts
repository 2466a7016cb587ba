import { expect, onTestFinished, test, vi } from "vitest";
import { MemoryBus } from "../../src/events/bus.memory.ts";
import { EventsService } from "../../src/events/events.service.ts";
import { AppError } from "../../src/kernel/errors.ts";
import { createLogger } from "../../src/kernel/log.ts";
import type { Hex } from "../../src/kernel/text/hex.ts";
import { SEGMENT_BYTES } from "../../src/storage/merkle/shape.ts";
import type { NodeFile, StorageNode } from "../../src/storage/node/storage-node.ts";
import { FollowedFiles } from "../../src/storage/progress/followed-files.runner.ts";
import { ProgressService } from "../../src/storage/progress/progress.service.ts";
import { TEST_CURSORS } from "../support/cursors.ts";
import { startRelay } from "../support/events.ts";
import { describeDatabases, openTestDatabase } from "../support/servers/database.ts";
import { newFile, openDisk } from "../support/storage/stored-files.ts";
import { until } from "../support/until.ts";

const ROOT: Hex = `0x${"ab".repeat(32)}`;
const fileWith = (change: Partial<NodeFile>): NodeFile => ({
  root: ROOT,
  sizeBytes: 262_144_000,
  txSeq: 7n,
  startEntryIndex: 1_024n,
  segments: 1_000,
  uploadedSegments: 0,
  finalized: false,
  isCached: false,
  pruned: false,
  ...change,
});

describeDatabases("the progress of a file", (kind) => {
  test("on remote nodes is polled while it has subscribers, through outages, and no longer", async () => {
    const { progress, node } = await startProgress();
    const following = await progress.follow(ROOT);
    await until(() => node.requests > 2);
    node.file = fileWith({ uploadedSegments: 3 });
    expect((await following.next()).value.data).toMatchObject({ status: "submitted", uploadedSegments: 3 });
    node.isDown = true;
    const { requests } = node;
    await until(() => node.requests > requests + 2);
    node.isDown = false;
    node.file = fileWith({ uploadedSegments: 1_000, finalized: true });
    expect((await following.next()).value.data).toMatchObject({ status: "finalized", sequence: 2 });
    expect((await following.next()).done).toBe(true);
    await progress.stop();
    const before = node.requests;
    await new Promise((resolve) => setImmediate(resolve));
    expect(node.requests).toBe(before);
  });

  test("is published per hundredth, never backwards, and once", async () => {
    const { progress, database, committed } = await startProgress();
    const record = async (file: NodeFile) => {
      await database.transaction((tx) => progress.record(tx, [file]));
      committed();
    };
    const segments = 300;
    for (let uploaded = 1; uploaded < segments; uploaded += 2)
      await record(fileWith({ segments, uploadedSegments: uploaded }));
    const whole = { segments, uploadedSegments: segments, finalized: true };
    await record(fileWith(whole));
    await record(fileWith({ segments, uploadedSegments: segments - 1 }));
    await record(fileWith(whole));
    const steps = await database.rows<{ uploaded: string; sequence: string }>(
      `select data ->> 'uploadedSegments' as uploaded, data ->> 'sequence' as sequence from outbox order by id`,
    );
    // Of 150 updates of two segments each, every second one completes a hundredth.
    expect(steps.length).toBe(76);
    expect(steps.map(({ sequence }) => Number(sequence))).toEqual(steps.map((_, at) => at + 1));
    expect(steps.at(-1)?.uploaded).toBe("300");
    expect((await progress.read(ROOT))?.step).toMatchObject({ status: "finalized", uploadedSegments: 300 });
  });

  test("is recorded once for a root of which segments of two file shapes arrive together", async () => {
    const { progress, database } = await startProgress();
    const node = openDisk(database);
    // The root of two halves: segment 0 has the same valid proof in a file of 1,088 chunks and in one of 2,048.
    const file = newFile(SEGMENT_BYTES + 16_384);
    const other = await node.put(newFile(300).segment(0));
    const small = await node.put(file.segment(0));
    const large = await node.put({ ...file.segment(0), sizeBytes: 2 * SEGMENT_BYTES });
    const more = await node.put(file.segment(1));
    for (const outcomes of [
      [small, large, other],
      [large, more, other],
    ])
      await database.transaction((tx) =>
        progress.record(
          tx,
          outcomes.map((outcome) => outcome.file),
        ),
      );
    expect((await progress.read(file.root))?.step).toMatchObject({ sequence: 2, uploadedSegments: 2 });
    expect((await progress.read(other.file.root))?.step).toMatchObject({ sequence: 1, uploadedSegments: 1 });
  });

  test("is deleted after a week if the upload was abandoned, and kept if it finished", async () => {
    const { progress, database } = await startProgress();
    const others = ["cd", "ef", "01"].map((byte): Hex => `0x${byte.repeat(32)}`);
    const [stale, done, fresh] = others as [Hex, Hex, Hex];
    const uploading = { txSeq: undefined, startEntryIndex: undefined, uploadedSegments: 1 };
    await database.transaction((tx) =>
      progress.record(tx, [
        fileWith({ ...uploading, root: stale }),
        fileWith({ root: done, uploadedSegments: 1_000, finalized: true }),
        fileWith({ ...uploading, root: fresh }),
      ]),
    );
    await database.rows("update file_progress set updated_at = now() - interval '8 days' where root <> $1", [
      fresh,
    ]);
    expect(await progress.sweep()).toBe(1);
    expect(await progress.read(stale)).toBeUndefined();
    expect((await progress.read(done))?.step.status).toBe("finalized");
    expect((await progress.read(fresh))?.step.status).toBe("uploading");
  });

  test("is not polled for a stream that could not be opened", async () => {
    const { progress, node, database, events, committed } = await startProgress();
    await database.transaction((tx) => progress.record(tx, [fileWith({ finalized: true })]));
    const after = events.cursorAt(await events.position("file.progressed"));
    const rows = database.rows.bind(database);
    const spy = vi.spyOn(database, "rows").mockImplementation((sql, parameters) => {
      if (sql.includes("select null from outbox")) throw new AppError("unavailable", "The database is down.");
      return rows(sql, parameters);
    });
    await expect(progress.follow(ROOT, after)).rejects.toMatchObject({ code: "unavailable" });
    spy.mockRestore();
    committed();
    const other: Hex = `0x${"cd".repeat(32)}`;
    const following = await progress.follow(other);
    await until(() => node.requests > 2);
    expect(node.roots).toEqual(new Set([other]));
    await following.return?.();
  });

  async function startProgress() {
    const database = await openTestDatabase(kind);
    const bus = new MemoryBus();
    const relay = startRelay(database, bus);
    const node = {
      file: undefined as NodeFile | undefined,
      requests: 0,
      roots: new Set<unknown>(),
      isDown: false,
    };
    const committed = () => relay.nudge();
    const common = { database, chainId: 16_602, log: createLogger("silent") };
    const find: StorageNode["find"] = async (ids) => {
      node.requests++;
      for (const id of ids) node.roots.add("root" in id && id.root);
      if (node.isDown) throw new Error("no node answers");
      return ids.map(() => node.file);
    };
    const events = new EventsService(database, bus, TEST_CURSORS);
    const progress = new ProgressService({
      ...common,
      events,
      followed: new FollowedFiles({ ...common, committed, node: { find } }, 20),
    });
    onTestFinished(() => progress.stop());
    return { progress, database, events, node, committed };
  }
});
