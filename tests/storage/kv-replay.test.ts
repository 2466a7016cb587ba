// @module-tag large
import { createECDH, createHash } from "node:crypto";
import { expect, test } from "vitest";
import type { Database, Queries } from "../../src/db/database.ts";
import { type Clock, systemClock } from "../../src/kernel/clock.ts";
import { AppError } from "../../src/kernel/errors.ts";
import { createLogger } from "../../src/kernel/log.ts";
import type { Hex } from "../../src/kernel/text/hex.ts";
import {
  encryptFile,
  type ReaderKeys,
  type Recipient,
} from "../../src/storage/encryption/file-encryption.ts";
import { describeHeld, type HeldStreams } from "../../src/storage/kv/held-streams.ts";
import { KvService } from "../../src/storage/kv/kv.service.ts";
import type { KvFile } from "../../src/storage/kv/kv-file.ts";
import { kvRollback } from "../../src/storage/kv/kv-rollback.ts";
import { RecentWrites } from "../../src/storage/kv/recent-writes.ts";
import { ReplayRunner } from "../../src/storage/kv/replay.runner.ts";
import { ReplayService } from "../../src/storage/kv/replay.service.ts";
import { openReplay } from "../../src/storage/kv/replay.store.ts";
import { encodeStreamData, MAX_U64, type StreamWrite } from "../../src/storage/kv/stream-data.ts";
import { encodeTags } from "../../src/storage/kv/stream-tags.ts";
import { deleteSubmissions, insertSubmissions } from "../../src/storage/submissions/submissions.store.ts";
import { describeDatabases, openTestDatabase } from "../support/servers/database.ts";
import { until } from "../support/until.ts";

const CHAIN = 16_602;
const ALICE: Hex = `0x${"a1".repeat(20)}`;
const BOB: Hex = `0x${"b0".repeat(20)}`;
const STREAM: Hex = `0x${"11".repeat(32)}`;
const OTHER: Hex = `0x${"22".repeat(32)}`;
const HOUR_MS = 3_600_000;
const log = createLogger("silent");

describeDatabases("the replay of key-value transactions", (kind) => {
  test("two processes share the work, and every transaction is decided once", async () => {
    const chain = await startChain(await openTestDatabase(kind));
    for (let at = 0; at < 12; at++) await chain.submit(ALICE, [set("k", `v${at}`), set(`k${at}`, "v")]);
    const [one, two] = [chain.runner(), chain.runner()];
    await Promise.all([one.pass(), two.pass(), one.pass(), two.pass()]);
    expect(await chain.results()).toEqual(Array(12).fill("Commit"));
    const [count] = await chain.database.rows<{ entries: number; events: number }>(
      `select (select count(*)::int from kv_entry) as entries,
         (select count(*)::int from outbox where topic = 'kv.committed') as events`,
    );
    expect(count).toEqual({ entries: 24, events: 12 });
    expect(await chain.text("k")).toBe("v11");
    expect(await chain.text("k", 7n)).toBe("v7");
  });

  test("a process that dies before its commit has done nothing, and one that dies after it has done it once", async () => {
    const chain = await startChain(await openTestDatabase(kind));
    await chain.submit(ALICE, [set("k", "v")]);
    const dying = (when: "before" | "behind") =>
      chain.runner({
        database: crashing(chain.database, when),
      });
    await expect(dying("before").pass()).rejects.toThrow("the process died");
    expect(await chain.results()).toEqual([]);
    expect(await chain.text("k")).toBeUndefined();
    await expect(dying("behind").pass()).rejects.toThrow("the process died");
    await chain.runner().pass();
    expect(await chain.results()).toEqual(["Commit"]);
    const rows = await chain.database.rows("select 1 from kv_entry");
    expect([await chain.text("k"), rows.length]).toEqual(["v", 1]);
  });

  test("a reverted transaction leaves no trace, and another takes its sequence number", async () => {
    const chain = await startChain(await openTestDatabase(kind));
    await chain.submit(ALICE, [set("k", "kept")]);
    await chain.submit(ALICE, [set("k", "lost"), { ...set("k", "v"), streamId: OTHER }]);
    const runner = chain.runner();
    await runner.pass();
    expect(await chain.text("k")).toBe("lost");
    await chain.reorganise(2n);
    expect([await chain.text("k"), await chain.results()]).toEqual(["kept", ["Commit"]]);
    expect(await chain.kv.rights(ALICE, { streamId: OTHER })).toMatchObject({
      isAdmin: false,
      hasWritePermission: true,
    });
    expect(await chain.kv.stream(OTHER)).toBeUndefined();
    // The stream is new again, so another account may be its first writer.
    await chain.submit(BOB, [{ ...set("k", "bob"), streamId: OTHER }]);
    await runner.pass();
    expect(await chain.kv.rights(BOB, { streamId: OTHER })).toMatchObject({ isAdmin: true });
    const published = await chain.database.rows<{ subject: Hex; removed: boolean }>(
      "select subject, (data ->> 'removed')::boolean as removed from outbox where topic = 'kv.committed' order by id",
    );
    expect(
      published
        .filter(({ removed }) => removed)
        .map(({ subject }) => subject)
        .toSorted(),
    ).toEqual([STREAM, OTHER]);
    expect(published).toHaveLength(6);
  });

  test("a decision is dropped if its block was reverted meanwhile", async () => {
    const chain = await startChain(await openTestDatabase(kind));
    await chain.submit(ALICE, [set("k", "v")]);
    const late = chain.runner({
      read: async (bytes) => {
        await chain.reorganise(1n);
        return bytes;
      },
    });
    await late.pass();
    expect(await chain.results()).toEqual([]);
    expect(await chain.text("k")).toBeUndefined();
    await chain.submit(BOB, [set("k", "bob")]);
    await chain.runner().pass();
    expect(await chain.text("k")).toBe("bob");
  });

  test("a file that never arrives fails its transaction at the deadline, and then the following ones continue", async () => {
    const chain = await startChain(await openTestDatabase(kind));
    await chain.submit(ALICE, [set("k", "never")], { isUploaded: false });
    await chain.submit(ALICE, [set("k", "later")]);
    await chain.submit(ALICE, [set("k", "never, too")], { isUploaded: false });
    const runner = chain.runner();
    await runner.pass();
    expect(await chain.results()).toEqual([]);
    chain.pass(HOUR_MS + 1_000);
    // The second missing file was waited for meanwhile, behind the first one.
    await until(async () => {
      await runner.pass();
      return (await chain.results()).length === 3;
    });
    expect(await chain.results()).toEqual(["DownloadFailed", "Commit", "DownloadFailed"]);
    expect(await chain.text("k")).toBe("later");
  });

  test("a file that a replay of old transactions cannot read at first is waited for", async () => {
    const chain = await startChain(await openTestDatabase(kind), [OTHER]);
    await chain.submit(ALICE, [set("k", "read")]);
    const late = await chain.submit(ALICE, [set("k", "found")], { isUploaded: false });
    await chain.runner().pass();
    expect(await chain.results()).toEqual([null, null]);
    chain.pass(2 * HOUR_MS);
    await chain.hold([STREAM]);
    let isDown = true;
    const runner = chain.runner({
      read: async (bytes) => {
        if (isDown) throw new AppError("storage_unavailable", "No node has it.");
        return bytes;
      },
    });
    await runner.pass();
    expect(await chain.results()).toEqual([]);
    isDown = false;
    chain.upload(late);
    await until(async () => {
      await runner.pass();
      return (await chain.results()).length === 2;
    });
    expect(await chain.results()).toEqual(["Commit", "Commit"]);
    expect(await chain.text("k")).toBe("found");
  });

  test("a file that is missing behind another one is not looked for in every pass", async () => {
    const chain = await startChain(await openTestDatabase(kind));
    for (let at = 0; at < 10; at++) await chain.submit(ALICE, [set("k", `v${at}`)], { isUploaded: false });
    const runner = chain.runner();
    for (let passes = 0; passes < 5; passes++) await runner.pass();
    // A pass looks for all of them or for none.
    expect(chain.looked.length % 10).toBe(0);
  });

  test("a reorged out transaction whose file was missing does not delay the one that takes its place", async () => {
    const chain = await startChain(await openTestDatabase(kind));
    await chain.submit(ALICE, [set("k", "lost")], { isUploaded: false });
    const runner = chain.runner();
    await runner.pass();
    await chain.reorganise(1n);
    await chain.submit(ALICE, [set("k", "kept")]);
    await runner.pass();
    expect(await chain.text("k")).toBe("kept");
  });

  test("reads that wait for a recent write share their looks at the database", async () => {
    const chain = await startChain(await openTestDatabase(kind));
    const txSeq = await chain.submit(ALICE, [set("k", "v")]);
    const looks = { running: 0, most: 0, all: 0 };
    const queries: Queries = {
      async rows(...query) {
        looks.all++;
        looks.most = Math.max(looks.most, ++looks.running);
        return chain.database.rows<never>(...query).finally(() => looks.running--);
      },
    };
    const recent = new RecentWrites({
      queries,
      chainId: CHAIN,
      clock: { ...systemClock, monotonicMs: () => 0 },
    });
    recent.add(txSeq);
    const reads = Array.from({ length: 50 }, () => recent.settled());
    await until(() => looks.all > 2);
    await chain.runner().pass();
    await Promise.all(reads);
    expect(looks.most).toBe(1);
  });

  test("a file that storage has from before a reorg is not that of the transaction that took its place", async () => {
    const chain = await startChain(await openTestDatabase(kind));
    await chain.submit(ALICE, [set("k", "lost")]);
    const runner = chain.runner();
    await runner.pass();
    await chain.reorganise(1n);
    await chain.submit(ALICE, [set("k", "kept")], { isKnown: false });
    await runner.pass();
    expect([await chain.results(), await chain.text("k")]).toEqual([[], undefined]);
    chain.learn();
    await until(async () => {
      await runner.pass();
      return (await chain.results()).length === 1;
    });
    expect(await chain.text("k")).toBe("kept");
  });

  test("a value of which storage has another file after a reorg is not read from that file", async () => {
    const chain = await startChain(await openTestDatabase(kind));
    const large = "a".repeat(20_000);
    await chain.submit(ALICE, [set("k", large)]);
    await chain.runner().pass();
    const entry = await chain.kv.entry(STREAM, Buffer.from("k"));
    await chain.reorganise(1n);
    await chain.submit(ALICE, [set("k", "b".repeat(20_000))]);
    if (!entry) throw new Error("the key was not written");
    await expect(chain.kv.read(entry, 0, 5)).rejects.toMatchObject({ code: "file_not_found" });
  });

  test("one account cannot block the streams of others with a file that never arrives", async () => {
    const chain = await startChain(await openTestDatabase(kind));
    await chain.submit(ALICE, [set("k", "1")]);
    await chain.submit(BOB, [set("k", "never")], { isUploaded: false });
    await chain.submit(ALICE, [set("k", "2")]);
    await chain.runner().pass();
    expect(await chain.results()).toEqual(["Commit", "SenderNoWritePermission", "Commit"]);
  });

  test("a file that cannot be read now is read later, and nothing is decided until then", async () => {
    const chain = await startChain(await openTestDatabase(kind));
    await chain.submit(ALICE, [set("k", "v")]);
    const broken = chain.runner({
      read: async () => {
        throw new AppError("storage_unavailable", "No node has it.");
      },
    });
    await broken.pass();
    expect(await chain.results()).toEqual([]);
    await chain.runner().pass();
    expect(await chain.results()).toEqual(["Commit"]);
  });

  test("a transaction that reads a stream waits for earlier ones on that stream", async () => {
    const chain = await startChain(await openTestDatabase(kind));
    await chain.submit(ALICE, [set("k", "1")]);
    const late = await chain.submit(ALICE, [set("k", "2")], { isUploaded: false });
    const reads = [{ streamId: STREAM, key: Buffer.from("k") }];
    await chain.submit(BOB, [{ ...set("x", "v"), streamId: OTHER }], { reads, version: 0n });
    let fileReads = 0;
    const runner = chain.runner({
      read: async (bytes) => {
        fileReads++;
        return bytes;
      },
    });
    await runner.pass();
    expect(await chain.results()).toEqual(["Commit"]);
    const before = fileReads;
    await runner.pass();
    await runner.pass();
    // Its file is not read again before that stream has no undecided transactions.
    expect(fileReads).toBe(before);
    chain.upload(late);
    await until(async () => {
      await runner.pass();
      return (await chain.results()).length === 3;
    });
    expect(await chain.results()).toEqual(["Commit", "Commit", "VersionConfliction"]);
  });

  test("only configured streams are replayed, and adding streams replays from the beginning", async () => {
    const chain = await startChain(await openTestDatabase(kind), [STREAM]);
    await chain.submit(ALICE, [set("k", "v")]);
    await chain.submit(ALICE, [{ ...set("k", "other"), streamId: OTHER }]);
    await chain.submit(ALICE, [set("k", "w"), { ...set("k", "both"), streamId: OTHER }]);
    await chain.runner().pass();
    expect(await chain.results()).toEqual(["Commit", null, null]);
    expect(await chain.text("k")).toBe("v");
    await chain.hold("all");
    expect(await chain.results()).toEqual([]);
    await chain.runner().pass();
    expect(await chain.results()).toEqual(["Commit", "Commit", "Commit"]);
    expect(await chain.text("k")).toBe("w");
    await chain.hold("all");
    expect(await chain.results()).toHaveLength(3);
  });

  test("encrypted files are read with either kind of key, next to plain ones, and undecryptable ones are ignored", async () => {
    const key = Buffer.alloc(32, 7);
    const recipient = createECDH("secp256k1");
    recipient.generateKeys();
    const publicKey = recipient.getPublicKey(null, "compressed");
    const keys = { key, privateKey: recipient.getPrivateKey() };
    const chain = await startChain(await openTestDatabase(kind), "all", keys);
    const submit = (value: string, to?: Recipient) =>
      chain.submit(ALICE, [set("k", value)], to && { encrypt: (bytes) => encryptFile(bytes, to) });
    await submit("plain");
    await submit("symmetric", { key });
    await submit("sealed", { publicKey });
    await submit("foreign", { key: Buffer.alloc(32, 8) });
    await chain.submit(ALICE, [set("k", "v")], { encrypt: () => Buffer.alloc(300, 2) });
    await chain.runner().pass();
    const refused = expect.stringMatching(/^DataParseError: /);
    expect(await chain.results()).toEqual(["Commit", "Commit", "Commit", refused, refused]);
    expect([await chain.text("k", 1n), await chain.text("k")]).toEqual(["symmetric", "sealed"]);
  });

  test("a value that ends beyond its file is read in any part, with zeros there", async () => {
    const chain = await startChain(await openTestDatabase(kind));
    const [stored, beyond] = [20_060, 100];
    const value = `${"v".repeat(stored)}${"\0".repeat(beyond)}`;
    // The file ends with the last byte that is not zero; its last sector has room for the rest of the transaction.
    const cut = (bytes: Buffer) => bytes.subarray(0, bytes.lastIndexOf("v") + 1);
    await chain.submit(ALICE, [set("k", value)], { encrypt: cut });
    await chain.runner().pass();
    expect(await chain.results()).toEqual(["Commit"]);
    const entry = await chain.kv.entry(STREAM, Buffer.from("k"));
    if (!entry) throw new Error("it was not written");
    for (const [start, length] of [
      [0, stored + beyond],
      [stored - 10, 20],
      [stored, beyond],
      [stored + 1, 1_000],
      [stored + beyond, 10],
    ] as const)
      expect((await chain.kv.read(entry, start, length)).toString()).toBe(value.slice(start, start + length));
  });

  test("a transaction of thousands of keys is one version, however many statements it takes", async () => {
    const chain = await startChain(await openTestDatabase(kind));
    const writes = Array.from({ length: 3_000 }, (_, at) => set(`key-${at}`, String(at)));
    await chain.submit(ALICE, writes);
    await chain.runner().pass();
    expect(await chain.results()).toEqual(["Commit"]);
    expect(await chain.text("key-2999")).toBe("2999");
    const page = await chain.kv.entries(
      { streamId: STREAM, version: MAX_U64, direction: "down", prefix: Buffer.from("key-299") },
      { first: 100 },
    );
    expect(page.rows.map(({ key }) => key.toString())).toEqual(
      ["key-299", ...[0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map((digit) => `key-299${digit}`)].toReversed(),
    );
  });
});

function set(key: string, value: string): StreamWrite {
  return { streamId: STREAM, key: Buffer.from(key), value: Buffer.from(value) };
}

type Submitting = {
  readonly isUploaded?: boolean;
  /** Whether storage has the submission; until `learn`, it has the one before a reorg. */
  readonly isKnown?: boolean;
  readonly version?: bigint;
  readonly reads?: readonly { streamId: Hex; key: Buffer }[];
  readonly encrypt?: (bytes: Buffer) => Buffer;
};

/** Submissions as the watcher writes them, one block each from block 1 on, and their files. */
async function startChain(database: Database, held: HeldStreams = "all", keys: ReaderKeys = {}) {
  const files = new Map<bigint, Buffer>();
  const roots = new Map<bigint, Hex>();
  const uploaded = new Set<bigint>();
  const late: (() => void)[] = [];
  const looked: bigint[] = [];
  let next = 0n;
  let ahead = 0;
  let holding = held;
  let branch = 0;
  const clock: Clock = {
    now: () => new Date(Date.now() + ahead),
    monotonicMs: () => performance.now() + ahead,
  };
  const hold = (streams: HeldStreams) => {
    holding = streams;
    return database.transaction((tx) => openReplay(tx, CHAIN, describeHeld(streams)));
  };
  const fileOf = (txSeq: bigint, read = async (bytes: Buffer) => bytes): KvFile | undefined => {
    const bytes = files.get(txSeq);
    if (!bytes || !uploaded.has(txSeq)) return undefined;
    return {
      root: roots.get(txSeq) ?? "0x",
      sizeBytes: bytes.length,
      async read(offset, length) {
        if (length < 0 || offset + length > bytes.length)
          throw new RangeError(`${length} bytes at ${offset}`);
        return (await read(bytes)).subarray(offset, offset + length);
      },
    };
  };
  await hold(held);
  const get = async (txSeq: bigint) => {
    const file = fileOf(txSeq);
    if (!file) throw new AppError("file_not_found", "There is no such file.");
    return file;
  };
  const kv = new KvService(
    {
      ...{ queries: database, chainId: CHAIN },
      recent: { settled: async () => {} },
      files: { get },
      submissions: { nextTxSeq: async () => next, listFrom: async () => [] },
    },
    { held, keys },
  );
  return {
    database,
    kv,
    hold,
    /** The files that were looked for, in order. */
    looked,
    /** Storage sees the submissions that replaced others. */
    learn: () => {
      for (const place of late.splice(0)) place();
    },
    upload: (txSeq: bigint) => void uploaded.add(txSeq),
    /** Lets time pass. */
    pass: (ms: number) => {
      ahead += ms;
    },
    async submit(sender: Hex, writes: readonly StreamWrite[], how: Submitting = {}): Promise<bigint> {
      const {
        isUploaded = true,
        isKnown = true,
        version = MAX_U64,
        reads = [],
        encrypt = (bytes) => bytes,
      } = how;
      const txSeq = next++;
      const content = encrypt(encodeStreamData({ version, reads, writes, controls: [] }));
      const root = hash(`root ${branch} ${txSeq}`);
      const place = () => {
        files.set(txSeq, content);
        roots.set(txSeq, root);
      };
      if (isKnown) place();
      else late.push(place);
      if (isUploaded) uploaded.add(txSeq);
      const blockNumber = txSeq + 1n;
      const submission = {
        ...{
          chainId: CHAIN,
          txSeq,
          root,
          submitter: sender,
          transactionSender: sender,
        },
        ...{
          identity: hash("identity"),
          sizeBytes: BigInt(content.length),
          startEntryIndex: txSeq,
          sectors: 1n,
        },
        tags: encodeTags(new Set(writes.map(({ streamId }) => streamId))),
        nodes: [],
        transactionHash: hash(`transaction ${branch} ${txSeq}`),
        logIndex: 0,
        blockNumber,
        blockHash: hash(`block ${branch} ${blockNumber}`),
      };
      await database.transaction((tx) => insertSubmissions(tx, [submission]));
      return txSeq;
    },
    /** Reverts the blocks from `from` on, as the watcher does. */
    async reorganise(from: bigint): Promise<void> {
      branch++;
      next = from - 1n;
      const rollback = kvRollback({ chainId: CHAIN, flow: `0x${"f".repeat(40)}` });
      await database.transaction(async (tx) => {
        await rollback.revert(tx, from, "reorg");
        await deleteSubmissions(tx, CHAIN, from);
      });
    },
    /** One process that replays. */
    runner({
      database: own = database,
      read,
    }: {
      database?: Database;
      read?: (bytes: Buffer) => Promise<Buffer>;
    } = {}) {
      const replay = new ReplayService(
        { database: own, chainId: CHAIN, clock, log, committed: () => {} },
        { held: holding, keys, dataWaitMs: HOUR_MS },
      );
      const find = async (txSeqs: readonly bigint[]) => {
        looked.push(...txSeqs);
        return txSeqs.map((txSeq) => fileOf(txSeq, read));
      };
      return new ReplayRunner({ database: own, chainId: CHAIN, replay, files: { find }, log });
    },
    async results(): Promise<readonly (string | null)[]> {
      const rows = await database.rows<{ result: string | null }>(
        "select result from kv_transaction order by tx_seq",
      );
      return rows.map(({ result }) => result);
    },
    async text(key: string, version?: bigint): Promise<string | undefined> {
      const entry = await kv.entry(STREAM, Buffer.from(key), version);
      return entry && (await kv.read(entry, 0, entry.sizeBytes)).toString();
    },
  };
}

/** A database whose process dies while it commits. */
function crashing(database: Database, when: "before" | "behind"): Database {
  const die = (): never => {
    throw new Error("the process died");
  };
  const transaction: Database["transaction"] = async (work) => {
    const result = await database.transaction(async (tx) => {
      const done = await work(tx);
      return when === "before" ? die() : done;
    });
    return when === "behind" ? die() : result;
  };
  return new Proxy(database, {
    get: (target, name) => {
      if (name === "transaction") return transaction;
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}

function hash(text: string): Hex {
  return `0x${createHash("sha256").update(text).digest("hex")}`;
}
