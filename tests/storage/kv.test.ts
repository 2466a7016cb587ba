// @module-tag large
import { createTestClient, http } from "viem";
import { expect, test } from "vitest";
import type { DomainEvent } from "../../src/events/topics.ts";
import type { Hex } from "../../src/kernel/text/hex.ts";
import { MAX_U64 } from "../../src/storage/kv/stream-data.ts";
import { describeDatabases } from "../support/servers/database.ts";
import { useStack } from "../support/stack.ts";
import { newStream, newWriter, resultOf, submit, upload, type Writer, write } from "../support/storage/kv.ts";
import { until } from "../support/until.ts";

const KEY = `0x${"42".repeat(32)}`;
const bytes = (text: string) => Buffer.from(text);

describeDatabases("key-value streams", (kind) => {
  const stack = useStack({ KV_DATA_WAIT_MS: "3600000", KV_ENCRYPTION_KEY: KEY }, kind);

  test("a committed write is readable, and at every earlier version", async () => {
    const { app, rpcUrl } = stack();
    const writer = await newWriter(rpcUrl);
    const streamId = newStream();
    const set = (key: string, value: string) => ({ streamId, key: bytes(key), value: bytes(value) });
    const first = await write(app, writer, { writes: [set("price", "1"), set("place", "here")] });
    await sees(streamId, "price", "1");
    const second = await write(app, writer, { writes: [set("price", "2")], version: first });
    await sees(streamId, "price", "2");
    const third = await write(app, writer, { writes: [set("price", "")] });
    expect(await resultOf(app, third)).toBe("Commit");
    expect(await app.kv.entry(streamId, bytes("price"))).toMatchObject({ version: third, sizeBytes: 0 });
    expect(await textAt(streamId, "price", second)).toBe("2");
    expect(await textAt(streamId, "price", second - 1n)).toBe("1");
    expect(await app.kv.entry(streamId, bytes("price"), first - 1n)).toBeUndefined();
    expect(await textAt(streamId, "place")).toBe("here");
  });

  test("keys are iterated in both directions in byte order, without deleted ones", async () => {
    const { app, rpcUrl } = stack();
    const writer = await newWriter(rpcUrl);
    const streamId = newStream();
    // Keys longer than the indexed prefix, which differ only after it.
    const keys = ["a", "a/1", "a/2", "b", "z".repeat(600), `${"z".repeat(600)}!`, "\u00ff"].map(bytes);
    const before = await write(app, writer, {
      writes: [...keys].reverse().map((key) => ({ streamId, key, value: bytes("v") })),
    });
    const after = await write(app, writer, { writes: [{ streamId, key: bytes("a/1"), value: bytes("") }] });
    await resultOf(app, after);
    const left = keys.filter((key) => !key.equals(bytes("a/1")));
    expect(await walk(streamId, "up")).toEqual(left);
    expect(await walk(streamId, "down")).toEqual([...left].reverse());
    expect(await walk(streamId, "up", { version: before })).toEqual(keys);
    expect(await walk(streamId, "up", { prefix: bytes("a") })).toEqual(
      keys.slice(0, 3).filter((key) => left.includes(key)),
    );
    expect(await walk(streamId, "down", { prefix: bytes("a/") })).toEqual([bytes("a/2")]);
    expect(await walk(streamId, "up", { prefix: bytes("z".repeat(550)) })).toEqual(keys.slice(4, 6));
    const from = { key: bytes("a/1"), isInclusive: true };
    const where = { streamId, version: MAX_U64 } as const;
    expect((await app.kv.neighbour({ ...where, direction: "up", from }))?.key).toEqual(bytes("a/2"));
    expect((await app.kv.neighbour({ ...where, direction: "down", from }))?.key).toEqual(bytes("a"));
    expect((await app.kv.neighbour({ ...where, direction: "down" }))?.key).toEqual(bytes("\u00ff"));
  });

  test("a list of keys is paged, and its cursors are valid only for its stream", async () => {
    const { app, rpcUrl } = stack();
    const [writer, streamId] = [await newWriter(rpcUrl), newStream()];
    const keys = ["1", "2", "3"].map(bytes);
    await resultOf(
      app,
      await write(app, writer, { writes: keys.map((key) => ({ streamId, key, value: key })) }),
    );
    const where = { streamId, version: MAX_U64, direction: "up" } as const;
    const page = await app.kv.entries(where, { first: 2 });
    expect([page.rows.map(({ key }) => key), page.hasNextPage]).toEqual([keys.slice(0, 2), true]);
    const after = page.rows.at(-1)?.cursor ?? "";
    expect((await app.kv.entries(where, { first: 2, after })).rows.map(({ key }) => key)).toEqual([keys[2]]);
    const foreign = app.kv.entries({ ...where, streamId: newStream() }, { first: 2, after });
    await expect(foreign).rejects.toMatchObject({ code: "invalid_cursor" });
    await expect(app.kv.entries(where, { first: 2, after: "WyJ4Il0" })).rejects.toMatchObject({
      code: "invalid_cursor",
    });
  });

  test("only the admin and the writers of a stream may write to it, and a special key has its own writers", async () => {
    const { app, rpcUrl } = stack();
    const [admin, writer, other] = await Promise.all([
      newWriter(rpcUrl),
      newWriter(rpcUrl),
      newWriter(rpcUrl),
    ]);
    const streamId = newStream();
    const [key, special] = [bytes("key"), bytes("special")];
    const by = (who: Writer, name: Buffer, value = "v") =>
      write(app, who, { writes: [{ streamId, key: name, value: bytes(value) }] });
    expect(await resultOf(app, await by(admin, key))).toBe("Commit");
    expect(await resultOf(app, await by(writer, key))).toBe("SenderNoWritePermission");
    const granted = await write(app, admin, {
      controls: [
        { op: "GRANT_WRITER_ROLE", streamId, account: writer.address },
        { op: "SET_KEY_TO_SPECIAL", streamId, key: special },
        { op: "GRANT_SPECIAL_WRITER_ROLE", streamId, key: special, account: other.address },
      ],
    });
    expect(await resultOf(app, granted)).toBe("Commit");
    expect(await resultOf(app, await by(writer, key))).toBe("Commit");
    const denied = (name: string) => `WritePermissionDenied: stream: ${streamId}, key: ${name}`;
    expect(await resultOf(app, await by(writer, special))).toBe(denied("special"));
    expect(await resultOf(app, await by(other, special))).toBe("Commit");
    expect(await resultOf(app, await by(other, key))).toBe(denied("key"));
    const rights = (who: Writer, name: Buffer, version?: bigint) =>
      app.kv.rights(who.address, { streamId, key: name }, version);
    expect(await rights(admin, special)).toMatchObject({ isAdmin: true, hasWritePermission: true });
    expect(await rights(writer, key)).toMatchObject({ isWriterOfStream: true, hasWritePermission: true });
    expect(await rights(writer, special)).toMatchObject({ isSpecialKey: true, hasWritePermission: false });
    expect(await rights(other, special)).toMatchObject({ isWriterOfKey: true, hasWritePermission: true });
    expect(await rights(writer, key, granted - 1n)).toMatchObject({ hasWritePermission: false });
    expect(await rights(writer, key, 0n)).toMatchObject({ hasWritePermission: true });
    const revoked = { op: "REVOKE_WRITER_ROLE", streamId, account: writer.address } as const;
    await write(app, admin, { controls: [revoked] });
    expect(await resultOf(app, await by(writer, key))).toBe("SenderNoWritePermission");
  });

  test("the signer of the transaction is the writer, whatever submitter the submission names", async () => {
    const { app, rpcUrl } = stack();
    const [admin, thief] = await Promise.all([newWriter(rpcUrl), newWriter(rpcUrl)]);
    const streamId = newStream();
    await write(app, admin, { writes: [{ streamId, key: bytes("k"), value: bytes("mine") }] });
    // Prepared in the admin's name, sent by another account.
    const writes = [{ streamId, key: bytes("k"), value: bytes("stolen") }];
    const forged = await app.kvWrites.prepare({ reads: [], writes, controls: [], from: admin.address });
    const txSeq = await submit(thief, forged);
    await upload(app, forged.content, txSeq);
    expect(await resultOf(app, txSeq)).toBe("SenderNoWritePermission");
    expect(await textAt(streamId, "k")).toBe("mine");
  });

  test("of two transactions based on the same version, the second gets a conflict and writes nothing", async () => {
    const { app, rpcUrl } = stack();
    const [writer, streamId] = [await newWriter(rpcUrl), newStream()];
    const set = (value: string) => [{ streamId, key: bytes("k"), value: bytes(value) }];
    const first = await write(app, writer, { writes: set("1") });
    expect(await resultOf(app, await write(app, writer, { writes: set("2"), version: first }))).toBe(
      "Commit",
    );
    expect(await resultOf(app, await write(app, writer, { writes: set("3"), version: first }))).toBe(
      "VersionConfliction",
    );
    const reads = [{ streamId, key: bytes("k") }];
    const other = [{ streamId, key: bytes("other"), value: bytes("4") }];
    const stale = await write(app, writer, { reads, writes: other, version: first });
    expect(await resultOf(app, stale)).toBe("VersionConfliction");
    expect(await textAt(streamId, "k")).toBe("2");
    expect(await app.kv.entry(streamId, bytes("other"))).toBeUndefined();
  });

  test("a transaction whose file is missing blocks later ones on its streams, and no others", async () => {
    const { app, rpcUrl } = stack();
    const [writer, streamId, free] = [await newWriter(rpcUrl), newStream(), newStream()];
    const set = (id: Hex, value: string) => [{ streamId: id, key: bytes("k"), value: bytes(value) }];
    const late = await app.kvWrites.prepare({
      reads: [],
      writes: set(streamId, "late"),
      controls: [],
      from: writer.address,
    });
    const lateSeq = await submit(writer, late);
    const next = await write(app, writer, { writes: set(streamId, "next") });
    expect(await resultOf(app, await write(app, writer, { writes: set(free, "free") }))).toBe("Commit");
    expect(await app.kv.transactions([lateSeq, next])).toEqual([undefined, undefined]);
    expect(await app.kv.entry(streamId, bytes("k"))).toBeUndefined();
    expect(await app.kv.progress()).toMatchObject({ nextSeq: lateSeq });
    await upload(app, late.content, lateSeq);
    expect([await resultOf(app, lateSeq), await resultOf(app, next)]).toEqual(["Commit", "Commit"]);
    expect(await textAt(streamId, "k")).toBe("next");
    expect(await textAt(streamId, "k", lateSeq)).toBe("late");
    expect(await app.kv.progress()).toMatchObject({ nextSeq: await app.submissions.nextTxSeq() });
  });

  test("a file that is not a transaction is refused by its result, and one without a tag is ignored", async () => {
    const { app, rpcUrl } = stack();
    const [writer, streamId] = [await newWriter(rpcUrl), newStream()];
    const tags: Hex = `0xdf2ff3bb0af36c6384e6206552a4ed807f6f6a26e7d0aa6bff772ddc9d4307aa${streamId.slice(2)}`;
    const content = Buffer.alloc(512, 0xee);
    const prepared = await app.uploads.prepare({ content, tags, from: writer.address });
    const txSeq = await submit(writer, prepared);
    await upload(app, content, txSeq);
    expect(await resultOf(app, txSeq)).toMatch(/^DataParseError: /);
    const plain = await app.uploads.prepare({ content: bytes(`plain ${kind}`), from: writer.address });
    const plainSeq = await submit(writer, plain);
    await upload(app, bytes(`plain ${kind}`), plainSeq);
    await until(async () => (await app.kv.progress()).nextSeq > plainSeq);
    expect(await app.kv.transactions([plainSeq])).toEqual([undefined]);
    expect(await app.kv.stream(streamId)).toBeUndefined();
  });

  test("a reverted transaction is undone, and an event says so", async () => {
    const { app, rpcUrl } = stack();
    const [writer, streamId] = [await newWriter(rpcUrl), newStream()];
    const set = (value: string) => [{ streamId, key: bytes("k"), value: bytes(value) }];
    const commits = await app.events.follow({ topic: "kv.committed", subject: streamId });
    const next = async () => ((await commits.next()).value as DomainEvent<"kv.committed">).data;
    const kept = await write(app, writer, { writes: set("kept") });
    const lost = await write(app, writer, { writes: set("lost") });
    await sees(streamId, "k", "lost");
    expect(await next()).toMatchObject({ txSeq: kept.toString(), removed: false });
    expect(await next()).toMatchObject({ txSeq: lost.toString(), removed: false });
    await reorg(rpcUrl, 1);
    expect(await next()).toMatchObject({ streamId, txSeq: lost.toString(), removed: true });
    await commits.return?.();
    expect(await textAt(streamId, "k")).toBe("kept");
    expect(await app.kv.transactions([lost])).toEqual([undefined]);
    const again = await write(app, writer, { writes: set("again") });
    expect([again, await resultOf(app, again), await textAt(streamId, "k")]).toEqual([
      lost,
      "Commit",
      "again",
    ]);
  });

  test("an encrypted stream is replayed and read with the configured key, large values too", async () => {
    const { app, rpcUrl } = stack();
    const [writer, streamId] = [await newWriter(rpcUrl), newStream()];
    const large = Buffer.from(Array.from({ length: 300_001 }, (_, at) => at % 251));
    const txSeq = await write(app, writer, {
      writes: [
        { streamId, key: bytes("small"), value: bytes("secret") },
        { streamId, key: bytes("large"), value: large },
      ],
      recipient: { key: Buffer.from(KEY.slice(2), "hex") },
    });
    expect(await resultOf(app, txSeq)).toBe("Commit");
    expect(await textAt(streamId, "small")).toBe("secret");
    const entry = await app.kv.entry(streamId, bytes("large"));
    if (!entry) throw new Error("it was not written");
    expect((await app.kv.read(entry, 0, 300_001)).equals(large)).toBe(true);
    expect(await app.kv.read(entry, 299_999, 100)).toEqual(large.subarray(299_999));
    expect(await app.kv.read(entry, 262_140, 10)).toEqual(large.subarray(262_140, 262_150));
  });

  /** Replaces the newest blocks of the chain by empty ones. */
  async function reorg(rpcUrl: string, depth: number): Promise<void> {
    type Reorg = { Method: "anvil_reorg"; Parameters: [number, []]; ReturnType: null };
    const client = createTestClient({ mode: "anvil", transport: http(rpcUrl) });
    await client.request<Reorg>({ method: "anvil_reorg", params: [depth, []] });
  }

  async function textAt(streamId: Hex, key: string, version?: bigint): Promise<string | undefined> {
    const { app } = stack();
    const entry = await app.kv.entry(streamId, bytes(key), version);
    return entry && (await app.kv.read(entry, 0, entry.sizeBytes)).toString();
  }

  /** A read waits a second for recent writes, and on a busy machine they take longer. */
  function sees(streamId: Hex, key: string, text: string) {
    return until(async () => expect(await textAt(streamId, key)).toBe(text));
  }

  async function walk(
    streamId: Hex,
    direction: "up" | "down",
    { version = MAX_U64, prefix }: { version?: bigint; prefix?: Buffer } = {},
  ) {
    const { app } = stack();
    const page = await app.kv.entries({ streamId, version, direction, prefix }, { first: 100 });
    return page.rows.map(({ key }) => key);
  }
});
