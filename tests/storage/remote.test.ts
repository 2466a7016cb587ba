// @module-tag large
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import type { Database } from "../../src/db/database.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { createLogger } from "../../src/kernel/log.ts";
import { Keccak } from "../../src/storage/keccak/keccak.ts";
import { SEGMENT_BYTES } from "../../src/storage/merkle/shape.ts";
import { FileReader } from "../../src/storage/node/file-reader.ts";
import { KnownNodes } from "../../src/storage/node/remote/known-nodes.ts";
import { NodeRpc } from "../../src/storage/node/remote/node-rpc.client.ts";
import { RemoteNode } from "../../src/storage/node/remote/remote-node.ts";
import { scaled } from "../support/machine.ts";
import { openTestDatabase } from "../support/servers/database.ts";
import { give, type Mood, type ScriptedNode, startNode } from "../support/storage/scripted-node.ts";
import { CHAIN_ID, found, newFile, submit } from "../support/storage/stored-files.ts";
import { until } from "../support/until.ts";

const ends: (() => Promise<void>)[] = [];
let database: Database;
beforeAll(async () => {
  database = await openTestDatabase(undefined, { onEnd: (end) => void ends.unshift(end) });
});
afterAll(async () => {
  for (const end of ends) await end();
});

describe("reading from the network's nodes", () => {
  test("a file over several shards is read completely, each segment from a node that holds it", async () => {
    const nodes = await Promise.all([0, 1, 2, 3].map((shardId) => startNode({ shardId, numShard: 4 })));
    const file = newFile(9 * SEGMENT_BYTES + 17);
    const txSeq = Number(await submit(database, undefined, file));
    give(nodes, file, { txSeq });
    const { node, reader } = openNetwork({ indexer: await indexerOf(nodes) });
    const here = await found(node, file);
    expect(here).toMatchObject({ finalized: true, uploadedSegments: 10, sizeBytes: file.bytes.length });
    expect((await reader.read(here)).equals(file.bytes)).toBe(true);
    for (const [shardId, { callsOf }] of nodes.entries())
      for (const { params } of callsOf("zgs_downloadSegmentWithProof"))
        expect((1 + Number(params[1])) % 4).toBe(shardId);
    expect((await node.locations(here)).map(({ shardId }) => shardId).sort()).toEqual([0, 1, 2, 3]);
  });

  const moods: readonly Mood[] = [
    "flips a bit",
    "sends another segment",
    "sends half of it",
    "cuts the line",
    "says it has none",
    "talks nonsense",
    "never ends",
    "fails with 500",
    "answers nothing",
  ];
  test.each(moods)("a node that %s: the segment is read from the next one, and never wrong", async (mood) => {
    const [bad, good] = [await startNode(), await startNode()];
    const file = newFile(2 * SEGMENT_BYTES + 1);
    const txSeq = Number(await submit(database, undefined, file));
    give([bad, good], file, { txSeq });
    bad.mood = mood;
    const { node, reader } = openNetwork({ nodes: [bad, good] });
    const here = await found(node, file);
    expect((await reader.read(here)).equals(file.bytes)).toBe(true);
    if (mood !== "answers nothing") expect(good.callsOf("zgs_download").length).toBe(3);
    bad.mood = "good";
    expect((await reader.read(here)).equals(file.bytes)).toBe(true);
  });

  test("without an honest node the stream fails, and every byte before that was right", async () => {
    const [one, two] = [await startNode(), await startNode()];
    const file = newFile(3 * SEGMENT_BYTES);
    const txSeq = Number(await submit(database, undefined, file));
    give([one, two], file, { txSeq });
    const { node } = openNetwork({ nodes: [one, two] });
    const here = await found(node, file);
    const reader = new FileReader({ node, cacheBytes: 0 });
    expect((await node.read(here, 0)).equals(file.segment(0).data)).toBe(true);
    [one.mood, two.mood] = ["flips a bit", "sends another segment"];
    const failing = reader.stream(here);
    await expect(failing.next()).rejects.toMatchObject({ code: "storage_unavailable", status: 502 });
    expect(await failing.next()).toEqual({ done: true, value: undefined });
    await expect(reader.read(here, { start: 7, end: 9 })).rejects.toMatchObject({
      code: "storage_unavailable",
    });
  });

  test("a node that dies in the middle of a file is dropped, and the read continues", async () => {
    const [first, second] = [await startNode(), await startNode()];
    const file = newFile(12 * SEGMENT_BYTES);
    const txSeq = Number(await submit(database, undefined, file));
    give([first, second], file, { txSeq });
    const { node, reader } = openNetwork({ nodes: [first, second] });
    const parts: Buffer[] = [];
    for await (const part of reader.stream(await found(node, file))) {
      parts.push(part);
      if (parts.length === 3) first.mood = "cuts the line";
      if (parts.length === 6) [first.mood, second.mood] = ["good", "cuts the line"];
    }
    expect(Buffer.concat(parts).equals(file.bytes)).toBe(true);
  });

  test("the next node is tried in parallel with a slow one, and answers first", async () => {
    const [slow, quick] = [await startNode(), await startNode()];
    const file = newFile(SEGMENT_BYTES);
    const txSeq = Number(await submit(database, undefined, file));
    give([slow, quick], file, { txSeq });
    const { node } = openNetwork({ nodes: [slow, quick] });
    const here = await found(node, file);
    slow.delayMs = 8_000;
    const startedMs = performance.now();
    expect((await node.read(here, 0)).equals(file.bytes)).toBe(true);
    expect(performance.now() - startedMs).toBeLessThan(scaled(5_000));
  });

  test("nodes that lied are tried last, however many claim to have the file", async () => {
    const honest = await startNode();
    const liars = await Promise.all(Array.from({ length: 6 }, () => startNode()));
    const file = newFile(SEGMENT_BYTES);
    const txSeq = Number(await submit(database, undefined, file));
    give([honest], file, { txSeq, finalized: false });
    give(liars, file, { txSeq });
    for (const liar of liars) liar.mood = "flips a bit";
    const indexer = await indexerOf([honest]);
    indexer.located = liars;
    const { node } = openNetwork({ indexer });
    const here = await found(node, file);
    await expect(node.read(here, 0)).rejects.toMatchObject({ code: "storage_unavailable" });
    expect((await node.read(here, 0)).equals(file.bytes)).toBe(true);
  });

  test("a node that lied is tried last although it answers other requests, and indexers are queried again", async () => {
    const honest = await startNode();
    const liars = await Promise.all(Array.from({ length: 6 }, () => startNode()));
    const file = newFile(SEGMENT_BYTES);
    const txSeq = Number(await submit(database, undefined, file));
    give([honest], file, { txSeq, finalized: false });
    give(liars, file, { txSeq });
    for (const liar of liars) liar.mood = "flips a bit";
    const indexer = await indexerOf([honest]);
    indexer.located = liars;
    const { node, known } = openNetwork({ indexer });
    const here = await found(node, file);
    await expect(node.read(here, 0)).rejects.toMatchObject({ code: "storage_unavailable" });
    const listed = indexer.callsOf("indexer_getShardedNodes").length;
    known.refresh();
    await until(() => indexer.callsOf("indexer_getShardedNodes").length > listed);
    await known.all();
    // Beyond the time for which a finalized file is cached: the liars are queried for the file's status.
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 6_000 });
    onTestFinished(() => void vi.useRealTimers());
    const again = await found(node, file);
    for (const liar of liars) expect(liar.callsOf("zgs_getFileInfo")).toHaveLength(2);
    expect((await node.read(again, 0)).equals(file.bytes)).toBe(true);
  });

  test("a disconnecting reader aborts its own requests, and no other's", async () => {
    const silent = await startNode();
    const file = newFile(2 * SEGMENT_BYTES);
    const txSeq = Number(await submit(database, undefined, file));
    give([silent], file, { txSeq });
    const { node, reader } = openNetwork({ nodes: [silent] });
    const here = await found(node, file);
    silent.mood = "answers nothing";
    const [leaving, staying] = [reader.stream(here), reader.stream(here)];
    const [left, stayed] = [leaving.next(), staying.next()];
    expect(await leaving.return()).toEqual({ done: true, value: undefined });
    expect(await left).toEqual({ done: true, value: undefined });
    await staying.return();
    expect(await stayed).toEqual({ done: true, value: undefined });
    silent.mood = "good";
    expect((await reader.read(here)).equals(file.bytes)).toBe(true);
  });
});

describe("the status of files by the nodes", () => {
  test("a file is finalized when the nodes that have it cover every shard, and not before", async () => {
    const nodes = await Promise.all([0, 1].map((shardId) => startNode({ shardId, numShard: 2 })));
    const [even, odd] = nodes as [ScriptedNode, ScriptedNode];
    const file = newFile(4 * SEGMENT_BYTES);
    const txSeq = Number(await submit(database, undefined, file));
    give([even], file, { txSeq });
    give([odd], file, { txSeq, finalized: false });
    const { node } = openNetwork({ nodes });
    expect(await found(node, file)).toMatchObject({ finalized: false, txSeq: BigInt(txSeq) });
    give([odd], file, { txSeq });
    expect(await found(node, file)).toMatchObject({ finalized: true });
    expect(
      await node.find([{ txSeq: BigInt(txSeq) }, { txSeq: 999n }, { root: newFile(3).root }]),
    ).toMatchObject([{ finalized: true }, undefined, undefined]);
  });

  test("after a reorg, the file that had the sequence number before is not returned for it", async () => {
    const there = await startNode();
    const [before, after] = [newFile(1_000), newFile(1_000)];
    const txSeq = await submit(database, undefined, before);
    give([there], before, { txSeq: Number(txSeq) });
    const { node } = openNetwork({ nodes: [there] });
    expect(await node.find([{ txSeq }])).toMatchObject([{ root: before.root, finalized: true }]);
    await database.rows("delete from submission where tx_seq = $1::numeric", [txSeq.toString()]);
    expect(await submit(database, undefined, after)).toBe(txSeq);
    expect(await node.find([{ txSeq }])).toMatchObject([{ root: after.root, finalized: false }]);
    there.files.clear();
    give([there], after, { txSeq: Number(txSeq) });
    expect(await node.find([{ txSeq }])).toMatchObject([{ root: after.root, finalized: true }]);
  });

  test("the size on chain overrides a node's", async () => {
    const [liar, honest] = [await startNode(), await startNode()];
    const file = newFile(3 * SEGMENT_BYTES);
    const txSeq = Number(await submit(database, undefined, file));
    give([liar, honest], file, { txSeq });
    for (const there of liar.files.values()) there.sizeBytes = 1;
    const { node, reader } = openNetwork({ nodes: [liar, honest] });
    const here = await found(node, file);
    expect(here).toMatchObject({ finalized: true, sizeBytes: 3 * SEGMENT_BYTES });
    expect((await reader.read(here)).equals(file.bytes)).toBe(true);
  });

  test("a file that no trusted node has is found through the indexer, and verified", async () => {
    const [trusted, liar, owner] = [await startNode(), await startNode(), await startNode()];
    const file = newFile(2 * SEGMENT_BYTES);
    const txSeq = Number(await submit(database, undefined, file));
    give([trusted], file, { txSeq, finalized: false });
    give([liar, owner], file, { txSeq });
    liar.mood = "flips a bit";
    const indexer = await indexerOf([trusted]);
    indexer.discovered = [liar, owner];
    indexer.located = [liar, owner];
    const { node, reader } = openNetwork({ indexer });
    expect((await reader.read(await found(node, file))).equals(file.bytes)).toBe(true);
  });

  test("a file on nodes that only its locations name is read, and stays finalized while they have it", async () => {
    const [trusted, owner] = [await startNode(), await startNode()];
    const file = newFile(2 * SEGMENT_BYTES);
    const txSeq = Number(await submit(database, undefined, file));
    give([trusted], file, { txSeq, finalized: false });
    give([owner], file, { txSeq });
    trusted.mood = "says it has none";
    const indexer = await indexerOf([trusted]);
    indexer.located = [owner];
    const { node, reader } = openNetwork({ indexer });
    const here = await found(node, file);
    expect(here).toMatchObject({ finalized: true });
    expect((await reader.read(here)).equals(file.bytes)).toBe(true);
    expect((await node.locations(here)).map(({ url }) => url)).toEqual([owner.url]);
    // Beyond the time for which a finalized file is cached.
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 6_000 });
    onTestFinished(() => void vi.useRealTimers());
    expect(await found(node, file)).toMatchObject({ finalized: true });
    expect(trusted.callsOf("zgs_getFileInfo")).toHaveLength(2);
    expect(indexer.callsOf("indexer_getFileLocations")).toHaveLength(1);
  });

  test("a file of the chain is read from its locations while no trusted node answers", async () => {
    const owner = await startNode();
    const file = newFile(300);
    const txSeq = await submit(database, undefined, file);
    give([owner], file, { txSeq: Number(txSeq) });
    const shard = { shardId: 0, numShard: 1 };
    const indexer = await indexerOf([{ url: "http://127.0.0.1:9", shard } as ScriptedNode]);
    indexer.located = [owner];
    const { node, reader } = openNetwork({ indexer });
    const [byRoot, byTxSeq] = await node.find([{ root: file.root }, { txSeq }]);
    expect([byRoot, byTxSeq]).toMatchObject([{ finalized: true }, { finalized: true }]);
    expect((await reader.read(await found(node, file))).equals(file.bytes)).toBe(true);
    await expect(node.find([{ root: newFile(1).root }])).rejects.toMatchObject({
      code: "storage_unavailable",
    });
  });

  test("the absence of all nodes is reported, and they are found again", async () => {
    const [gone, back] = [await startNode(), await startNode()];
    gone.mood = "fails with 500";
    const { node } = openNetwork({ nodes: [{ url: "http://127.0.0.1:9" } as ScriptedNode] });
    await expect(node.find([{ root: newFile(1).root }])).rejects.toMatchObject({
      code: "storage_unavailable",
      status: 502,
    });
    const other = openNetwork({ nodes: [back, { url: "http://127.0.0.1:9" } as ScriptedNode] });
    expect(await other.node.find([{ root: newFile(1).root }])).toEqual([undefined]);
  });

  test("addresses that are not public are refused on a public network, whichever source names them", async () => {
    const hidden = await startNode();
    const file = newFile(300);
    const txSeq = Number(await submit(database, undefined, file));
    give([hidden], file, { txSeq });
    const indexer = await indexerOf([hidden]);
    const { node } = openNetwork({ indexer, allowsPrivate: false });
    await expect(node.find([{ root: file.root }])).rejects.toMatchObject({ code: "storage_unavailable" });
    expect(indexer.calls.length).toBeGreaterThan(0);
    expect(hidden.calls).toEqual([]);
  });
});

describe("uploading to the network's nodes", () => {
  test("each segment goes to a node of its shard, and the upload completes", async () => {
    const nodes = await Promise.all([0, 1].map((shardId) => startNode({ shardId, numShard: 2 })));
    const file = newFile(4 * SEGMENT_BYTES);
    const txSeq = Number(await submit(database, undefined, file));
    give(nodes, file, { txSeq, finalized: false });
    const { node } = openNetwork({ nodes });
    const outcomes = [];
    for (let index = 0; index < 4; index++) outcomes.push(await node.put(file.segment(index), BigInt(txSeq)));
    expect(outcomes.map(({ kind }) => kind)).toEqual(["stored", "stored", "stored", "stored"]);
    for (const [shardId, { callsOf }] of nodes.entries()) {
      const uploads = callsOf("zgs_uploadSegmentsByTxSeq");
      expect(uploads.map(({ params }) => (params[0] as { index: number }[])[0]?.index)).toEqual(
        [0, 1, 2, 3].filter((index) => (index + 1) % 2 === shardId),
      );
    }
  });

  test("invalid segments reach no node", async () => {
    const only = await startNode();
    const file = newFile(5 * SEGMENT_BYTES);
    const txSeq = Number(await submit(database, undefined, file));
    give([only], file, { txSeq, finalized: false });
    const { node } = openNetwork({ nodes: [only] });
    const good = file.segment(1);
    for (const wrong of [
      { ...good, index: 2 },
      { ...good, index: 5 },
      { ...good, proof: file.segment(2).proof },
      { ...good, data: Buffer.alloc(SEGMENT_BYTES) },
      { ...good, data: good.data.subarray(256) },
      { ...good, sizeBytes: 1 },
    ])
      await expect(node.put(wrong)).rejects.toMatchObject({ code: "segment_refused" });
    await expect(node.put(newFile(300).segment(0), 999n)).rejects.toMatchObject({ code: "file_not_found" });
    expect(only.callsOf("zgs_upload")).toEqual([]);
  });

  test("a segment of a finalized file is accepted again, and an invalid one is refused, as by a disk", async () => {
    const only = await startNode();
    const [file, other] = [newFile(2 * SEGMENT_BYTES), newFile(2 * SEGMENT_BYTES)];
    const txSeq = await submit(database, undefined, file);
    give([only], file, { txSeq: Number(txSeq) });
    const { node } = openNetwork({ nodes: [only] });
    const good = file.segment(1);
    for (const named of [undefined, txSeq]) {
      expect(await node.put(good, named)).toMatchObject({ kind: "finalized" });
      for (const wrong of [
        { ...good, proof: file.segment(0).proof },
        { ...good, data: other.segment(1).data },
        { ...good, index: 2 },
        { ...good, sizeBytes: 1 },
      ])
        await expect(node.put(wrong, named)).rejects.toMatchObject({ code: "segment_refused" });
    }
    expect(only.callsOf("zgs_upload")).toEqual([]);
  });

  test("the next node is tried when one does not accept a segment, and a node's refusal is returned unchanged", async () => {
    const [busy, free] = [await startNode(), await startNode()];
    const file = newFile(300);
    const txSeq = Number(await submit(database, undefined, file));
    give([busy, free], file, { txSeq, finalized: false });
    busy.uploads = "too many data writing: 16";
    const { node } = openNetwork({ nodes: [busy, free] });
    expect(await node.put(file.segment(0))).toMatchObject({ kind: "stored" });
    free.uploads = "segment has already been uploaded or is being uploaded";
    give([busy, free], file, { txSeq, finalized: false });
    const again = openNetwork({ nodes: [busy, free] }).node;
    expect(await again.put(file.segment(0))).toMatchObject({ kind: "duplicate" });
    free.uploads = busy.uploads;
    await expect(again.put(file.segment(0))).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("too many data writing"),
    });
    free.uploads = busy.uploads = "something else";
    await expect(again.put(file.segment(0))).rejects.toMatchObject({ code: "storage_unavailable" });
  });
});

type Places = {
  readonly indexer?: ScriptedNode;
  readonly nodes?: readonly ScriptedNode[];
  readonly allowsPrivate?: boolean;
};

function openNetwork({ indexer, nodes = [], allowsPrivate = true }: Places) {
  const [keccak, log] = [new Keccak(), createLogger("silent")];
  const rpc = new NodeRpc({ allowsPrivate, connectMs: 2_000 });
  const places = { indexers: indexer ? [indexer.url] : [], nodes: nodes.map(({ url }) => url) };
  const known = new KnownNodes({ rpc, ...places, clock: systemClock, log });
  const node = new RemoteNode({
    queries: database,
    chainId: CHAIN_ID,
    rpc,
    nodes: known,
    keccak,
    hasher: keccak,
  });
  onTestFinished(() => node.close());
  return { node, known, reader: new FileReader({ node, cacheBytes: 0 }) };
}

async function indexerOf(trusted: readonly ScriptedNode[]): Promise<ScriptedNode> {
  return Object.assign(await startNode(), { trusted });
}
