// @module-tag large
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { open, readdir } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, describe, expect, test } from "vitest";
import { rawGet } from "../support/clients/raw-http.ts";
import { readEnvelope, toEnvelope } from "../support/envelope.ts";
import { useStack } from "../support/stack.ts";
import { encodeFolder } from "../support/storage/folder.ts";
import { type PublishedFile, prepareFile, startPublisher } from "../support/storage/publisher.ts";
import { until } from "../support/until.ts";

const stack = useStack({ STORAGE_CACHE_MIB: "0", CLIENT_STALL_MS: "1500" });
const ZERO = `0x${"0".repeat(64)}`;
const UNKNOWN = `0x${"1".repeat(64)}`;

let publisher: Awaited<ReturnType<typeof startPublisher>>;
beforeAll(async () => {
  publisher = await startPublisher(stack());
});

const infoOf = async (root: string) => (await readEnvelope(`${stack().origin}/file/info/${root}`)).data;

describe("an uploaded segment", () => {
  let file: PublishedFile;
  let other: PublishedFile;
  let valid: { root: string; index: number; data: string; proof: { lemma: string[]; path: boolean[] } };

  beforeAll(async () => {
    file = prepareFile(randomBytes(700_000));
    other = prepareFile(randomBytes(700_000));
    await publisher.submit(file);
    valid = structuredClone({ root: file.root, ...file.segments[0] }) as unknown as typeof valid;
  });

  const bytes = (length: number) => randomBytes(length).toString("base64");
  const segment = (n: number) => {
    const found = file.segments[n];
    if (!found) throw new Error("there is no such segment");
    return found;
  };

  // Each row: the fault, the change to a valid segment, and the expected status.
  const FAULTS: readonly (readonly [string, () => object, number])[] = [
    [
      "a proof with one wrong hash",
      () => ({
        proof: { ...valid.proof, lemma: [valid.proof.lemma[0], UNKNOWN, ...valid.proof.lemma.slice(2)] },
      }),
      400,
    ],
    [
      "a proof with a wrong direction",
      () => ({ proof: { ...valid.proof, path: valid.proof.path.map((turn) => !turn) } }),
      400,
    ],
    ["the right proof for another index", () => ({ index: 1 }), 400],
    ["the segment and proof of another file", () => ({ ...other.segments[0] }), 400],
    ["the data of another segment", () => ({ data: segment(1).data }), 400],
    ["the first index after the end", () => ({ index: 3 }), 400],
    ["a huge index", () => ({ index: Number.MAX_SAFE_INTEGER }), 400],
    ["an index below 0", () => ({ index: -1 }), 400],
    ["an index that is a fraction", () => ({ index: 0.5 }), 400],
    ["data one chunk too short", () => ({ data: bytes(262_144 - 256) }), 400],
    ["data one chunk too long", () => ({ data: bytes(262_144 + 256) }), 400],
    ["data that ends within a chunk", () => ({ data: bytes(262_144 - 1) }), 400],
    [
      "a last segment that is padded to a whole one",
      () => ({
        ...segment(2),
        data: Buffer.concat([Buffer.from(segment(2).data, "base64"), Buffer.alloc(262_144)])
          .subarray(0, 262_144)
          .toString("base64"),
      }),
      400,
    ],
    ["no data", () => ({ data: "" }), 400],
    ["data that is not base64", () => ({ data: "?".repeat(64) }), 400],
    ["data in base64 for URLs", () => ({ data: "_-".repeat(64) }), 400],
    [
      "5,000 hashes",
      () => ({ data: bytes(256), proof: { lemma: Array(5_000).fill(ZERO), path: Array(5_000).fill(true) } }),
      400,
    ],
    ["an empty proof", () => ({ proof: { lemma: [], path: [] } }), 400],
    ["a proof of a file of one segment", () => ({ proof: { lemma: [file.root], path: [] } }), 400],
    [
      "invalid hashes",
      () => ({ proof: { lemma: valid.proof.lemma.map(() => "0x12"), path: valid.proof.path } }),
      400,
    ],
    ["no proof", () => ({ proof: undefined }), 400],
    ["neither root nor txSeq", () => ({ root: undefined }), 400],
    ["a root and the txSeq of another file", () => ({ root: other.root, txSeq: 0 }), 400],
    ["an invalid root", () => ({ root: "0x12" }), 400],
    ["a txSeq that is text", () => ({ root: undefined, txSeq: "0" }), 400],
    ["a txSeq beyond JSON's numbers", () => ({ root: undefined, txSeq: 2 ** 60 }), 400],
    ["a root without a submission", () => ({ root: UNKNOWN }), 404],
    [
      "the root of a file without a submission, otherwise valid",
      () => ({ root: other.root, ...other.segments[0] }),
      404,
    ],
    ["a txSeq that does not exist yet", () => ({ root: undefined, txSeq: 1_000_000 }), 404],
    ["a body that is too large", () => ({ data: bytes(500_000) }), 413],
  ];

  test.each(FAULTS)("with %s is refused, and no byte of it is stored", async (_what, change, status) => {
    const reply = await publisher.post({ ...valid, ...change() });
    expect([reply.status, await reply.json()]).toEqual([
      status,
      {
        code: status === 404 ? 101 : 1,
        message: expect.any(String),
        data: status === 404 ? null : expect.stringMatching(/\b(root|txSeq|index|data|proof|body)\b/),
      },
    ]);
    expect(await infoOf(file.root)).toMatchObject({ uploadedSegNum: 0, finalized: false });
    expect((await fetch(`${stack().origin}/file/info/${other.root}`)).status).toBe(404);
  });

  test("with another content type than JSON is refused", async () => {
    const reply = await fetch(`${stack().origin}/file/segment`, {
      method: "POST",
      headers: { "content-type": "text/plain" },
      body: JSON.stringify(valid),
    });
    expect([reply.status, (await toEnvelope(reply)).code]).toEqual([415, 1]);
  });

  test("that is valid is still stored after all those, repeatedly, in any order, by root and by txSeq", async () => {
    const { tx } = await infoOf(file.root);
    const post = async (body: object) => (await publisher.post(body)).json();
    const done = { code: 0, message: "Success", data: "Succeeded to upload segment" };
    expect(await post({ txSeq: tx.seq, ...segment(2) })).toEqual(done);
    expect(await post({ root: file.root, txSeq: tx.seq, ...segment(0), expectedReplica: 3 })).toEqual(done);
    expect(await post({ root: file.root, ...segment(0) })).toEqual(done);
    expect(await infoOf(file.root)).toMatchObject({ uploadedSegNum: 2, finalized: false });
    expect(await post({ root: file.root, ...segment(1) })).toEqual(done);
    expect(await infoOf(file.root)).toMatchObject({ uploadedSegNum: 3, finalized: true });
    // As Go clients write it: a nil pointer, a root that was not set.
    expect(await post({ root: file.root, txSeq: null, expectedReplica: 1, ...segment(1) })).toEqual(done);
    expect(await post({ root: ZERO, txSeq: tx.seq, ...segment(1) })).toEqual(done);
    const small = prepareFile(randomBytes(100));
    await publisher.submit(small);
    const proof = { lemma: [small.root], path: null };
    expect(await post({ root: small.root, txSeq: null, ...small.segments[0], proof })).toEqual(done);
    // A complete file stays complete.
    expect(await post({ root: file.root, ...segment(1) })).toEqual(done);
    const reply = await fetch(`${stack().origin}/file?root=${file.root}`);
    expect(Buffer.from(await reply.arrayBuffer()).equals(file.content)).toBe(true);
  });
});

describe("a path in a folder", () => {
  let folder: PublishedFile;
  beforeAll(async () => {
    folder = await publisher.publish(encodeFolder({ name: "/", type: "directory", entries: [] }));
  });

  const PATHS: readonly (readonly [string, number])[] = [
    ["../../../etc/passwd", 400],
    ["..", 400],
    ["a/../../b", 400],
    ["%2e%2e/%2e%2e/etc/passwd", 400],
    [".%2e/x", 400],
    ["%252e%252e/x", 404],
    ["a%2f..%2fb", 400],
    ["..%5c..%5cx", 400],
    ["a\\b", 400],
    ["a%00b", 400],
    ["%0d%0aSet-Cookie:%20a=b", 400],
    ["%c0%ae%c0%ae/x", 400],
    ["%ff", 400],
    ["%", 400],
    ["/etc/passwd", 404],
    ["C:/x", 404],
    ["a/".repeat(2_000), 400],
    ["n".repeat(4_000), 400],
    ["__proto__", 404],
    ["constructor/prototype", 404],
  ];

  test.each(PATHS.map(([path, status]) => [path.slice(0, 40), path, status] as const))(
    "%s is not looked up anywhere",
    async (_start, path, status) => {
      const reply = await rawGet(stack().origin, `/file/${folder.root}/${path}`);
      const { code } = JSON.parse(reply.body.toString());
      expect([reply.status, code]).toEqual([status, status === 404 ? 104 : 1]);
      expect(reply.headers["set-cookie"]).toBeUndefined();
    },
  );
});

describe("a malicious manifest", () => {
  const file = (name: string) => ({ name, type: "file", roots: [ZERO], size: 1 });
  const folderOf = (...entries: unknown[]) => ({ name: "/", type: "directory", entries });

  test.each([
    ["names that lead outside", folderOf(file("../x"))],
    ["absolute names", folderOf(file("/etc"))],
    ["an empty name", folderOf(file(""))],
    ["a name with a slash", folderOf(file("a/b"))],
    ["a device", folderOf(file("CON"))],
    ["a duplicate name", folderOf(file("a"), file("a"))],
    [
      "itself 10,000 deep",
      `${'{"name":"d","type":"directory","entries":['.repeat(10_000)}${"]}".repeat(10_000)}`,
    ],
    [
      "50,000 entries",
      folderOf(...Array.from({ length: 50_000 }, (_, n) => ({ name: String(n), type: "file" }))),
    ],
    ["text that is not JSON", "{"],
  ])("with %s is refused, and the process keeps running", async (_what, tree) => {
    const { root } = await publisher.publish(encodeFolder(tree));
    const reply = await fetch(`${stack().origin}/file/${root}/x`);
    expect([reply.status, (await toEnvelope(reply)).code]).toEqual([422, 106]);
    // Downloaded as a file it is unchanged.
    expect((await fetch(`${stack().origin}/file?root=${root}`)).status).toBe(200);
  });
});

describe("a file that was damaged on the disk", () => {
  test("is not sent: no byte of a damaged segment, and no clean end after an intact one", async () => {
    const small = await publisher.publish(randomBytes(1_000));
    await damage(small.root, 500);
    const none = await fetch(`${stack().origin}/file?root=${small.root}`);
    expect([none.status, (await toEnvelope(none)).code]).toEqual([502, 2]);

    const large = await publisher.publish(randomBytes(700_000));
    await damage(large.root, 600_000);
    const cut = await rawGet(stack().origin, `/file?root=${large.root}`);
    expect(cut.isWhole).toBe(false);
    expect(cut.body.length).toBeLessThanOrEqual(524_288);
    expect(cut.body.equals(large.content.subarray(0, cut.body.length))).toBe(true);
  });

  test("is still served for ranges without damage", async () => {
    const file = await publisher.publish(randomBytes(700_000));
    await damage(file.root, 300_000);
    await rawGet(stack().origin, `/file?root=${file.root}`);
    const range = (from: number, to: number) =>
      fetch(`${stack().origin}/file?root=${file.root}`, { headers: { range: `bytes=${from}-${to}` } });
    for (const [from, to] of [
      [10, 1_000],
      [600_000, 699_999],
    ] as const) {
      const reply = await range(from, to);
      expect(reply.status).toBe(206);
      expect(Buffer.from(await reply.arrayBuffer()).equals(file.content.subarray(from, to + 1))).toBe(true);
    }
    expect((await range(300_000, 300_100)).status).toBe(409);
    expect((await fetch(`${stack().origin}/file?root=${file.root}`)).status).toBe(409);
    expect(await infoOf(file.root)).toMatchObject({ finalized: false, uploadedSegNum: 2 });
  });

  test("is repaired when its segment is uploaded again", async () => {
    const file = await publisher.publish(randomBytes(700_000));
    await damage(file.root, 300_000);
    await rawGet(stack().origin, `/file?root=${file.root}`);
    expect((await fetch(`${stack().origin}/file?root=${file.root}`)).status).not.toBe(200);
    for (const segment of file.segments)
      expect((await publisher.post({ root: file.root, ...segment })).status).toBe(200);
    const reply = await fetch(`${stack().origin}/file?root=${file.root}`);
    expect(Buffer.from(await reply.arrayBuffer()).equals(file.content)).toBe(true);
  });
});

describe("a client", () => {
  let path: string;
  let sizeBytes: number;

  // A small file 64 times in place of a large one.
  beforeAll(async () => {
    const { root } = await publisher.publish(randomBytes(700_000));
    sizeBytes = 64 * 700_000;
    const entries = [{ name: "large", type: "file", roots: Array(64).fill(root), size: sizeBytes }];
    const folder = await publisher.publish(encodeFolder({ name: "/", type: "directory", entries }));
    path = `/file/${folder.root}/large`;
  });

  test("that reads nothing is disconnected after the timeout, by a reset", async () => {
    const { socket, ours } = await ask(path);
    await until(() => ours.destroyed);
    expect(ours.bytesWritten).toBeLessThan(sizeBytes);
    const failed = once(socket, "error");
    socket.resume();
    expect(await failed).toMatchObject([{ code: "ECONNRESET" }]);
  });

  test("that pauses for less than the timeout receives the whole file", async () => {
    const { socket, ours } = await ask(path);
    let [received, pauses] = [0, 0];
    for await (const chunk of socket) {
      received += (chunk as Buffer).length;
      if (received > 5_000_000 && pauses++ === 0) await sleep(500);
      if (received > sizeBytes) break;
    }
    expect(received).toBeGreaterThan(sizeBytes);
    ours.destroy();
  });

  test("that disconnects ends the reading of segments for it", async () => {
    const { socket, ours } = await ask(path);
    await once(socket, "readable");
    socket.destroy();
    await until(() => ours.destroyed);
    expect(ours.bytesWritten).toBeLessThan(sizeBytes);
  });
});

/** Sends a request and reads nothing of the answer; `ours` is the server's end. */
async function ask(path: string): Promise<{ readonly socket: Socket; readonly ours: Socket }> {
  const { server, origin } = stack();
  const accepted = once(server.server, "connection");
  const socket = connect(Number(new URL(origin).port), "127.0.0.1");
  await once(socket, "connect");
  const [ours] = (await accepted) as [Socket];
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  return { socket, ours };
}

describe("a file id", () => {
  test.each([
    ["txSeq=-1"],
    ["txSeq=1.5"],
    ["txSeq=1e3"],
    ["txSeq=0x1"],
    ["txSeq=01"],
    ["txSeq=%2B1"],
    ["txSeq="],
    ["txSeq=18446744073709551616"],
    ["txSeq=99999999999999999999999999"],
    ["txSeq=0&txSeq=0"],
    [`root=${ZERO}&txSeq=0`],
    [`root=${ZERO}&root=${ZERO}`],
    ["root=0x12"],
    [`root=${"0".repeat(64)}`],
    [`root=0x${"g".repeat(64)}`],
    [""],
    [`root=${ZERO}&withProof=perhaps`],
  ])("cannot be %s", async (query) => {
    const reply = await fetch(`${stack().origin}/file?${query}`);
    expect([reply.status, (await toEnvelope(reply)).code]).toEqual([400, 1]);
  });

  test.each([["-1"], ["1.5"], ["0x1"], ["info"], [`0x${"g".repeat(64)}`]])(
    "in a path cannot be %s",
    async (cid) => {
      for (const path of [`/file/info/${cid}`, `/file/${cid}/a`]) {
        const reply = await fetch(`${stack().origin}${path}`);
        expect([reply.status, (await toEnvelope(reply)).code]).toEqual([400, 1]);
      }
    },
  );
});

/** Flips a byte of a stored file. */
async function damage(root: string, at: number): Promise<void> {
  const folder = join(stack().app.config.DATA_DIR, "storage");
  const names = await readdir(folder, { recursive: true });
  const name = names.find((found) => found.includes(`${root.slice(2)}-`) && !found.endsWith(".roots"));
  const handle = await open(join(folder, name ?? ""), "r+");
  const byte = Buffer.alloc(1);
  await handle.read(byte, 0, 1, at);
  await handle.write(Buffer.of((byte[0] ?? 0) ^ 1), 0, 1, at);
  await handle.close();
}
