// @module-tag medium
import { randomBytes } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { Keccak } from "../../../src/storage/keccak/keccak.ts";
import { proofFault, type SegmentProof } from "../../../src/storage/merkle/proof.ts";
import { segmentLeaves } from "../../../src/storage/merkle/shape.ts";
import { rawGet } from "../../support/clients/raw-http.ts";
import { readEnvelope, toEnvelope } from "../../support/envelope.ts";
import { useStack } from "../../support/stack.ts";
import { encodeFolder } from "../../support/storage/folder.ts";
import { type PublishedFile, prepareFile, startPublisher } from "../../support/storage/publisher.ts";

const stack = useStack();
const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(`${stack().origin}${path}`, { headers });
const json = (path: string) => readEnvelope(`${stack().origin}${path}`);

/** A file of three segments, the last one short, and a folder. */
let file: PublishedFile;
let text: PublishedFile;
let folder: PublishedFile;
let unfinished: PublishedFile;
const UNKNOWN = `0x${"1".repeat(64)}`;

beforeAll(async () => {
  const publisher = await startPublisher(stack());
  file = await publisher.publish(randomBytes(600_000));
  text = await publisher.publish(Buffer.from("<script>alert(1)</script>"));
  folder = await publisher.publish(
    encodeFolder({
      name: "/",
      type: "directory",
      entries: [
        { name: "data.bin", type: "file", roots: [file.root], size: 600_000 },
        { name: "empty", type: "file" },
        { name: "nothing", type: "directory" },
        { name: "link", type: "symbolic", link: "../../etc/passwd" },
        { name: "two parts", type: "file", roots: [text.root, file.root], size: 600_000 + text.sizeBytes },
        { name: "false size", type: "file", roots: [text.root], size: 1_000_000 },
        { name: "lost", type: "file", roots: [UNKNOWN], size: 5 },
        {
          name: "sub",
          type: "directory",
          entries: [{ name: "index.html", type: "file", hash: text.root, size: text.sizeBytes }],
        },
      ],
    }),
  );
  unfinished = prepareFile(randomBytes(300_000));
  await publisher.submit(unfinished);
  await publisher.post({ root: unfinished.root, ...unfinished.segments[0] });
});

describe("a file", () => {
  test("is downloaded by its root and by its txSeq, byte for byte, with the headers that caches and browsers need", async () => {
    const reply = await get(`/file?root=${file.root}`);
    expect(Buffer.from(await reply.arrayBuffer()).equals(file.content)).toBe(true);
    expect(Object.fromEntries(reply.headers)).toMatchObject({
      "content-type": "application/octet-stream",
      "content-length": "600000",
      "accept-ranges": "bytes",
      etag: `"${file.root}"`,
      "cache-control": "public, max-age=31536000, immutable",
      "content-disposition": `attachment; filename="${file.root}"`,
      "x-content-type-options": "nosniff",
      "content-security-policy": "sandbox allow-downloads; default-src 'none'",
      "access-control-allow-origin": "*",
      "access-control-expose-headers": expect.stringContaining("Content-Range"),
      "x-storage-root": file.root,
      "x-request-id": expect.any(String),
    });
    const { data } = await json(`/file/info/${file.root.toUpperCase().replace("0X", "0x")}`);
    const bySeq = await get(`/file?txSeq=${data.tx.seq}&name=na%C3%AFve.bin`);
    expect(Buffer.from(await bySeq.arrayBuffer()).equals(file.content)).toBe(true);
    expect(bySeq.headers.get("cache-control")).toBe("public, no-cache");
    expect(bySeq.headers.get("content-disposition")).toBe(
      `attachment; filename="na_ve.bin"; filename*=UTF-8''na%C3%AFve.bin`,
    );
  });

  test("that is a page is sent as text to be saved, and its name cannot inject a header", async () => {
    const reply = await get(
      `/file?root=${text.root}&name=${encodeURIComponent('a"\r\nSet-Cookie: b=c;.html')}`,
    );
    expect(reply.headers.get("content-type")).toBe("text/plain; charset=utf-8");
    expect(reply.headers.get("content-disposition")).toBe('attachment; filename="a\\"Set-Cookie: b=c;.html"');
    expect(reply.headers.get("set-cookie")).toBeNull();
  });

  test("is cut to a range within a segment, across two, and at its end", async () => {
    for (const [range, start, end] of [
      ["bytes=0-0", 0, 1],
      ["bytes=262140-262150", 262_140, 262_151],
      ["bytes=524288-", 524_288, 600_000],
      ["bytes=-7", 599_993, 600_000],
    ] as const) {
      const reply = await get(`/file?root=${file.root}`, { range });
      expect([reply.status, reply.headers.get("content-range")]).toEqual([
        206,
        `bytes ${start}-${end - 1}/600000`,
      ]);
      const bytes = Buffer.from(await reply.arrayBuffer());
      expect(bytes.equals(file.content.subarray(start, end))).toBe(true);
    }
  });

  test("answers an unsatisfiable range with 416, and several, reversed or outdated ones with the whole file", async () => {
    const beyond = await get(`/file?root=${file.root}`, { range: "bytes=600000-" });
    expect([beyond.status, beyond.headers.get("content-range"), (await toEnvelope(beyond)).code]).toEqual([
      416,
      "bytes */600000",
      1,
    ]);
    expect((await get(`/file?root=${file.root}`, { range: "bytes=-0" })).status).toBe(416);
    const many = `bytes=${Array.from({ length: 1_000 }, (_, n) => `${n}-${n}`).join()}`;
    for (const headers of [
      { range: many },
      { range: "bytes=9-1" },
      { range: "bytes=0-1", "if-range": '"another"' },
      { range: "bytes=0-1", "if-range": "Wed, 21 Oct 2026 07:28:00 GMT" },
    ]) {
      const reply = await get(`/file?root=${file.root}`, headers);
      expect([reply.status, (await reply.arrayBuffer()).byteLength]).toEqual([200, 600_000]);
    }
    const known = await get(`/file?root=${file.root}`, { range: "bytes=0-1", "if-range": `"${file.root}"` });
    expect([known.status, (await known.arrayBuffer()).byteLength]).toEqual([206, 2]);
  });

  test("is not sent again to a client that has it, and HEAD sends only the head, whatever the range", async () => {
    const known = await get(`/file?root=${file.root}`, { "if-none-match": `"x", "${file.root}"` });
    expect([known.status, await known.text(), known.headers.get("etag")]).toEqual([
      304,
      "",
      `"${file.root}"`,
    ]);
    const head = await rawGet(stack().origin, `/file?root=${file.root}`, {
      method: "HEAD",
      headers: { range: "bytes=0-1" },
    });
    expect([head.status, head.headers["content-length"], head.body.length]).toEqual([200, "600000", 0]);
    const none = await rawGet(stack().origin, `/file?root=${UNKNOWN}`, { method: "HEAD" });
    expect([none.status, none.body.length]).toEqual([404, 0]);
  });

  test("is compared with every tag of a list that comes in several headers", async () => {
    const tags = ['"x"', `"${file.root}"`];
    const ask = (name: string) =>
      rawGet(stack().origin, `/file?root=${file.root}`, { headers: { [name]: tags } });
    expect((await ask("if-none-match")).status).toBe(304);
    const matched = await ask("if-match");
    expect([matched.status, matched.body.length]).toEqual([200, 600_000]);
  });

  test("has proofs that verify against the root and nothing else, whole or by range", async () => {
    for (const [headers, status, indexes] of [
      [{}, 200, [0, 1, 2]],
      [{ range: "bytes=262145-262146" }, 206, [1]],
      [{ range: "bytes=262145-262146", "if-range": `"${file.root}"` }, 206, [1]],
      [{ range: "bytes=262145-262146", "if-range": '"another"' }, 200, [0, 1, 2]],
    ] as const) {
      const reply = await get(`/file?root=${file.root}&withProof=true`, headers);
      expect(reply.status).toBe(status);
      const parts = partsOf(reply.headers.get("content-type") ?? "", Buffer.from(await reply.arrayBuffer()));
      expect(parts.map(({ headers }) => Number(headers["x-segment-index"]))).toEqual(indexes);
      for (const part of parts) {
        const index = Number(part.headers["x-segment-index"]);
        const start = index * 262_144;
        const { length } = part.data;
        expect(part.data.equals(file.content.subarray(start, start + length))).toBe(true);
        expect(part.headers["content-range"]).toBe(`bytes ${start}-${start + length - 1}/600000`);
        expect(faultOf(part)).toBeUndefined();
        expect(faultOf({ ...part, data: Buffer.concat([part.data.subarray(1), Buffer.of(1)]) })).toBe(
          "validation failed",
        );
      }
    }
    const small = await get(`/file?root=${text.root}&proof=true`);
    const [only] = partsOf(small.headers.get("content-type") ?? "", Buffer.from(await small.arrayBuffer()));
    expect([only?.data.toString(), JSON.parse(only?.headers["x-segment-proof"] ?? "")]).toEqual([
      text.content.toString(),
      { lemma: [text.root], path: [] },
    ]);
  });

  test("is described, alone or in a batch, in the shape of the network's gateway", async () => {
    const known = await json(`/file/info/${file.root}`);
    expect(known).toEqual({
      code: 0,
      message: "Success",
      data: {
        tx: {
          streamIds: [],
          data: "",
          dataMerkleRoot: file.root,
          startEntryIndex: expect.any(Number),
          size: 600_000,
          seq: expect.any(Number),
        },
        finalized: true,
        isCached: false,
        uploadedSegNum: 3,
        pruned: false,
      },
    });
    const half = await json(`/file/info/${unfinished.root}`);
    expect(half.data).toMatchObject({ finalized: false, uploadedSegNum: 1 });
    const many = await json(`/files/info?cid=${UNKNOWN}&cid=${known.data.tx.seq}&cid=0x12&cid=${file.root}`);
    expect(many.data).toEqual([null, known.data, expect.stringMatching(/^A file id is/), known.data]);
    expect((await json("/files/info")).data).toBe("No cid specified");
    const tooMany = `/files/info?${"cid=1&".repeat(101)}`;
    expect((await json(tooMany)).data).toBe("Too many cid specified, exceeded 100");
  });

  test("is readable by pages of other origins, including their preflight requests", async () => {
    const asked = await fetch(`${stack().origin}/file?root=x`, {
      method: "OPTIONS",
      headers: { origin: "https://example.com", "access-control-request-method": "GET" },
    });
    expect([asked.status, asked.headers.get("access-control-allow-methods")]).toEqual([
      204,
      "GET, HEAD, OPTIONS",
    ]);
    expect(asked.headers.get("access-control-allow-headers")).toMatch(/Range/);
    const posts = await fetch(`${stack().origin}/file/segment`, { method: "OPTIONS" });
    expect(posts.headers.get("access-control-allow-methods")).toMatch(/POST/);
    expect((await get("/file?root=x")).headers.get("access-control-allow-origin")).toBe("*");
    expect((await get("/v1/models")).headers.get("access-control-allow-origin")).toBeNull();
  });

  test("is downloaded 50 times in parallel, each time byte for byte", async () => {
    const replies = await Promise.all(
      Array.from({ length: 50 }, async () => (await get(`/file?root=${file.root}`)).arrayBuffer()),
    );
    expect(replies.every((bytes) => Buffer.from(bytes).equals(file.content))).toBe(true);
  });
});

describe("a folder", () => {
  test("lists its directories, and null for an empty one", async () => {
    const { data } = await json(`/file/${folder.root}/`);
    expect(data).toContainEqual({ name: "data.bin", type: "file", size: 600_000 });
    expect(data).toContainEqual({ name: "empty", type: "file" });
    expect(data).toContainEqual({ name: "sub", type: "directory" });
    expect(data).toContainEqual({ name: "link", type: "symbolic" });
    expect(await json(`/file/${folder.root}`)).toMatchObject({ data });
    expect(await json(`/file/${folder.root}/nothing`)).toEqual({ code: 0, message: "Success", data: null });
  });

  test("serves its files under their own names, by range too, whatever the manifest's version", async () => {
    const reply = await get(`/file/${folder.root}/data.bin`, { range: "bytes=262144-262200" });
    expect([reply.status, reply.headers.get("content-disposition")]).toEqual([
      206,
      'attachment; filename="data.bin"',
    ]);
    expect(Buffer.from(await reply.arrayBuffer()).equals(file.content.subarray(262_144, 262_201))).toBe(true);
    const page = await get(`/file/${folder.root}/sub/./index.html`);
    expect([await page.text(), page.headers.get("etag")]).toEqual([
      text.content.toString(),
      `"${text.root}"`,
    ]);
    const empty = await get(`/file/${folder.root}/empty`);
    expect([empty.status, await empty.text()]).toEqual([200, ""]);
  });

  test("assembles a file from the stored files that it consists of", async () => {
    const path = `/file/${folder.root}/two%20parts`;
    const whole = Buffer.concat([text.content, file.content]);
    expect(Buffer.from(await (await get(path)).arrayBuffer()).equals(whole)).toBe(true);
    const range = `bytes=${text.sizeBytes - 3}-${text.sizeBytes + 2}`;
    const border = await get(path, { range });
    expect(Buffer.from(await border.arrayBuffer())).toEqual(
      whole.subarray(text.sizeBytes - 3, text.sizeBytes + 3),
    );
    const proven = await get(`${path}?withProof=true`);
    const parts = partsOf(proven.headers.get("content-type") ?? "", Buffer.from(await proven.arrayBuffer()));
    expect(parts.map(({ headers }) => headers["x-segment-root"])).toEqual([
      text.root,
      file.root,
      file.root,
      file.root,
    ]);
    expect(Buffer.concat(parts.map(({ data }) => data)).equals(whole)).toBe(true);
  });

  test("shows the target of a link and does not follow it", async () => {
    expect((await json(`/file/${folder.root}/link`)).data).toEqual({
      name: "link",
      type: "symbolic",
      link: "../../etc/passwd",
    });
    expect((await json(`/file/${folder.root}/link/x`)).code).toBe(104);
  });

  test.each([
    ["none", 404, 104, "path not found: 'none'"],
    ["empty/x", 404, 104, "cannot locate 'x': 'empty' is not a directory"],
    ["lost", 404, 101, null],
    ["false%20size", 422, 106, expect.stringContaining("has 25 bytes, not 1000000")],
  ])("at %s answers %d", async (path, status, code, data) => {
    const reply = await get(`/file/${folder.root}/${path}`);
    expect([reply.status, await reply.json()]).toEqual([status, { code, message: expect.any(String), data }]);
  });
});

describe("what does not exist", () => {
  test.each([
    [`/file?root=${UNKNOWN}`, 404, 101],
    ["/file?txSeq=999999", 404, 101],
    [`/file/info/${UNKNOWN}`, 404, 101],
    ["/file/info/999999", 404, 101],
    [`/file/${UNKNOWN}/a`, 404, 101],
  ])("%s is 404", async (path, status, code) => {
    const reply = await get(path);
    expect([reply.status, (await toEnvelope(reply)).code]).toEqual([status, code]);
    expect(reply.headers.get("cache-control")).toBe("no-store");
  });

  test("a file with missing segments is 409, and no byte of it is sent", async () => {
    const reply = await get(`/file?root=${unfinished.root}`);
    expect([reply.status, await reply.json()]).toEqual([
      409,
      { code: 103, message: "File not finalized yet", data: null },
    ]);
  });

  test("a file that is not a folder is 422", async () => {
    const reply = await get(`/file/${file.root}/a`);
    expect([reply.status, await reply.json()]).toEqual([
      422,
      { code: 106, message: "File type unsupported", data: "invalid magic bytes" },
    ]);
  });

  test("the status says up to which block the chain was read", async () => {
    const { code, data } = await json("/node/status");
    expect([code, data.nextTxSeq, data.networkIdentity.chainId]).toEqual([0, 4, 16_602]);
    expect(data.logSyncHeight).toBeGreaterThan(0);
    expect(data.logSyncBlock).not.toMatch(/^0x0+$/);
  });
});

type Part = { readonly headers: Readonly<Record<string, string>>; readonly data: Buffer };

function partsOf(contentType: string, body: Buffer): readonly Part[] {
  const boundary = /^multipart\/(?:mixed|byteranges); boundary=(\S+)$/.exec(contentType)?.[1];
  if (!boundary) throw new Error(`not multipart: ${contentType}`);
  const parts: Part[] = [];
  for (let at = 0; ; ) {
    const line = body.indexOf("\r\n", at);
    if (body.subarray(at, line).toString() === `--${boundary}--`) return parts;
    const end = body.indexOf("\r\n\r\n", at);
    const head = body
      .subarray(line + 2, end)
      .toString()
      .split("\r\n");
    const next = body.indexOf(`\r\n--${boundary}`, end + 4);
    parts.push({
      headers: Object.fromEntries(
        head.map((field) => field.split(/: (.*)/, 2).map((text, n) => (n === 0 ? text.toLowerCase() : text))),
      ),
      data: body.subarray(end + 4, next),
    });
    at = next + 2;
  }
}

/** Verifies a part as a client would that trusts only the root. */
function faultOf({ headers, data }: Part) {
  const keccak = new Keccak();
  const { shape } = file.tree;
  const index = Number(headers["x-segment-index"]);
  const proof = JSON.parse(headers["x-segment-proof"] ?? "") as SegmentProof;
  const segmentRoot = keccak.rootOfChunks(data, segmentLeaves(shape, index));
  return proofFault(keccak, { root: file.root, shape }, index, segmentRoot, proof);
}
