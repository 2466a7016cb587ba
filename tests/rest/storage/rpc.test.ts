// @module-tag medium
import { createHash, randomBytes } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { KV_METHODS } from "../../../src/rest/rpc/kv-methods.ts";
import type { Base64Bytes } from "../../../src/rest/rpc/rpc-json.ts";
import { RpcParams } from "../../../src/rest/rpc/rpc-params.ts";
import { scaled } from "../../support/machine.ts";
import { useStack } from "../../support/stack.ts";
import { newStream, newWriter, resultOf, type Writer, write } from "../../support/storage/kv.ts";
import { type PublishedFile, prepareFile, startPublisher } from "../../support/storage/publisher.ts";

const stack = useStack({ PUBLIC_URL: "https://storage.example" });

type Answer = {
  readonly id?: unknown;
  readonly result?: never;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: string };
};

const UNKNOWN = `0x${"9".repeat(64)}`;

describe("the envelope", () => {
  test("an id is returned as it was sent, with all its digits", async () => {
    for (const id of ["17952530950039350", "18446744073709551615", '"text"', "1.5", "0", "null", '""']) {
      const { text } = await post(`{"jsonrpc":"2.0","id":${id},"method":"kv_getStatus"}`);
      expect(text).toBe(`{"jsonrpc":"2.0","id":${id},"result":true}`);
    }
  });

  test("the version may be absent, as published", async () => {
    const { text } = await post('{"id":1,"method":"kv_getStatus"}');
    expect(text).toBe('{"jsonrpc":"2.0","id":1,"result":true}');
    const refused = await post('{"jsonrpc":null,"id":1,"method":"kv_getStatus"}');
    expect(JSON.parse(refused.text).error.data).toBe('jsonrpc: must be "2.0", or absent');
  });

  test("params may be absent, null or too many", async () => {
    for (const params of ["", ',"params":null', ',"params":[]', ',"params":[1,2]'])
      expect((await post(`{"jsonrpc":"2.0","id":1,"method":"zgs_getShardConfig"${params}}`)).text).toContain(
        '"result":{"shardId":0,"numShard":1}',
      );
  });

  test.each<[string, string, number]>([
    ["not JSON", "{", -32_700],
    ["nothing", "", -32_700],
    ["bad UTF-8", "\ufffe", -32_700],
    ["an empty batch", "[]", -32_600],
    ["a batch of too many", `[${Array(101).fill("{}").join(",")}]`, -32_600],
    ["not a call", "3", -32_600],
    ["a call without a method", '{"jsonrpc":"2.0","id":1}', -32_600],
    [
      "params that are not a list",
      '{"jsonrpc":"2.0","id":1,"method":"kv_getStatus","params":{"a":1}}',
      -32_600,
    ],
    ["an id that cannot be returned", '{"jsonrpc":"2.0","id":{"a":1},"method":"kv_getStatus"}', -32_600],
    [
      "an id that is too long",
      `{"jsonrpc":"2.0","id":"${"a".repeat(257)}","method":"kv_getStatus"}`,
      -32_600,
    ],
    [
      "an id of megabytes",
      `{"jsonrpc":"2.0","id":"${"a".repeat(2_000_000)}","method":"kv_getStatus"}`,
      -32_600,
    ],
    ["a call of another version", '{"jsonrpc":"1.0","id":1,"method":"kv_getStatus"}', -32_600],
    ["a version that is a number", '{"jsonrpc":2.0,"id":1,"method":"kv_getStatus"}', -32_600],
    ["an id that is a list", '{"jsonrpc":"2.0","id":[],"method":"kv_getStatus"}', -32_600],
    ["an id of another type", '{"jsonrpc":"2.0","id":true,"method":"kv_getStatus"}', -32_600],
    ["endless nesting", `${"[".repeat(100_000)}${"]".repeat(100_000)}`, -32_600],
    ["a million members", `[${Array(1_000_000).fill("1").join(",")}]`, -32_600],
    ["an unknown method", '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}', -32_601],
    ["a method that every object has", '{"jsonrpc":"2.0","id":1,"method":"constructor"}', -32_601],
  ])("%s is answered with HTTP 200 and its code, quickly", async (_name, body, code) => {
    const begun = performance.now();
    const { status, text } = await post(body === "\ufffe" ? Buffer.from([0x22, 0xff, 0x22]) : body);
    expect([status, JSON.parse(text).error.code]).toEqual([200, code]);
    expect(performance.now() - begun).toBeLessThan(scaled(2_000));
  });

  test("a batch is answered in its order, one bad call does not affect others, and notifications have no answer", async () => {
    const { text } = await post(
      JSON.stringify([
        { jsonrpc: "2.0", id: 1, method: "kv_getStatus" },
        { jsonrpc: "2.0", method: "kv_getStatus" },
        7,
        { jsonrpc: "2.0", id: 2, method: "none" },
        { jsonrpc: "2.0", id: 3, method: "zgs_getShardConfig" },
      ]),
    );
    const answers = JSON.parse(text) as Answer[];
    expect(answers.map(({ id, error }) => [id, error?.code])).toEqual([
      [1, undefined],
      [null, -32_600],
      [2, -32_601],
      [3, undefined],
    ]);
    const silent = await post('{"jsonrpc":"2.0","method":"kv_getStatus"}');
    expect([silent.status, silent.text]).toEqual([204, ""]);
  });

  test("GET / is not a page", async () => {
    expect((await fetch(stack().origin)).status).toBe(404);
  });
});

describe("the indexer", () => {
  test("names this product as the one node, at its public URL", async () => {
    const node = {
      url: "https://storage.example",
      config: { shardId: 0, numShard: 1 },
      latency: 0,
      since: 0,
    };
    expect(await call("indexer_getShardedNodes")).toEqual({ trusted: [node], discovered: [] });
    expect(await call("indexer_getSelectedNodes", [1, "min", true, null])).toEqual({
      trusted: [node],
      discovered: [],
    });
    expect(await call("indexer_getNodeLocations")).toEqual({});
    const none = "cannot select a subset from the returned nodes that meets the replication requirement";
    expect(await failure("indexer_getSelectedNodes", [2, "min", true, []])).toMatchObject({
      code: -32_000,
      message: none,
    });
    expect(await failure("indexer_getSelectedNodes", [1, "min", true, [`${node.url}/`]])).toMatchObject({
      message: none,
    });
  });
});

describe("the storage node", () => {
  let file: PublishedFile;
  beforeAll(async () => {
    file = await (await startPublisher(stack())).publish(randomBytes(300_000));
  });

  test("describes a file in the shape that its clients read", async () => {
    const info = await call("zgs_getFileInfo", [file.root, true]);
    expect(info).toEqual({
      tx: {
        ...{ streamIds: [], data: [], dataMerkleRoot: file.root, size: 300_000 },
        startEntryIndex: expect.any(Number),
        seq: expect.any(Number),
        merkleNodes: file.tree.nodes.map(({ root, height }) => [height + 1, root]),
      },
      ...{ finalized: true, isCached: false, uploadedSegNum: 2, pruned: false },
    });
    const { seq } = (info as { tx: { seq: number } }).tx;
    expect(await call("zgs_getFileInfoByTxSeq", [seq])).toEqual(info);
    expect(await call("zgs_getFileInfoByTxSeq", [String(seq)])).toEqual(info);
    expect(await call("zgs_checkFileFinalized", [seq])).toBe(true);
    expect(await call("zgs_checkFileFinalized", [file.root])).toBe(true);
    expect(await call("indexer_getFileLocations", [file.root])).toHaveLength(1);
    expect(await call("zgs_getFileInfo", [UNKNOWN, true])).toBeNull();
    expect(await call("zgs_checkFileFinalized", [UNKNOWN])).toBeNull();
    expect(await failure("indexer_getFileLocations", [UNKNOWN])).toMatchObject({
      code: -32_000,
      message: "file not found",
    });
    expect(await call("zgs_getStatus")).toMatchObject({
      connectedPeers: 0,
      nextTxSeq: expect.any(Number),
      networkIdentity: { chainId: 16_602, flowAddress: expect.stringMatching(/^0x/) },
    });
  });

  test("returns chunks of a file, across segments too, and segments with their proofs", async () => {
    const chunks = async (start: number, end: number) =>
      Buffer.from(await call("zgs_downloadSegment", [file.root, start, end]), "base64");
    expect(await chunks(1_023, 1_026)).toEqual(file.content.subarray(1_023 * 256, 1_026 * 256));
    const last = await chunks(1_171, 1_172);
    expect(last).toEqual(Buffer.concat([file.content.subarray(1_171 * 256), Buffer.alloc(32)]));
    expect(await failure("zgs_downloadSegment", [file.root, 1_171, 1_173])).toEqual({
      code: -32_000,
      message: "end entry index exceeds tx size: end=1173 tx size=300000",
    });
    expect(await call("zgs_downloadSegment", [UNKNOWN, 0, 1])).toBeNull();
    expect(await call("zgs_downloadSegmentByTxSeq", [10 ** 6, 0, 1])).toBeNull();
    const refused = (data: string) => ({ code: -32_602, message: "Invalid params: end_index", data });
    expect(await failure("zgs_downloadSegment", [file.root, 0, 1_025])).toEqual(
      refused("exceeds maximum chunks 1024"),
    );
    expect(await failure("zgs_downloadSegment", [file.root, 5, 5])).toEqual(refused("invalid chunk index"));
    const [, second] = file.segments;
    expect(await call("zgs_downloadSegmentWithProof", [file.root, 1])).toEqual({
      ...{ root: file.root, index: 1, fileSize: 300_000 },
      ...{ data: second?.data, proof: second?.proof },
    });
    expect(await failure("zgs_downloadSegmentWithProof", [file.root, 2])).toEqual({
      code: -32_602,
      message: "Invalid params: index",
      data: "index out of bound",
    });
  });

  test("refuses segments with the phrases that its clients search for, and stores nothing of them", async () => {
    const publisher = await startPublisher(stack());
    const other = prepareFile(randomBytes(600_000));
    await publisher.submit(other);
    const segment = (index: number) => ({
      ...other.segments[index],
      root: other.root,
      fileSize: other.sizeBytes,
    });
    const params = (param: string, data: string) => ({
      code: -32_602,
      message: `Invalid params: ${param}`,
      data,
    });
    const upload = (changes: object) => failure("zgs_uploadSegment", [{ ...segment(0), ...changes }]);
    expect(await upload({ proof: segment(1).proof })).toMatchObject({ message: "Invalid params: proof" });
    expect(await upload({ data: segment(2).data })).toEqual(params("data", "invalid data length"));
    expect(await upload({ index: 3 })).toMatchObject({ message: "Invalid params: index" });
    expect(await upload({ index: 2 ** 53 })).toMatchObject({ code: -32_602 });
    expect(await upload({ fileSize: 1 })).toMatchObject({ message: "Invalid params: file_size" });
    expect(await upload({ data: "" })).toEqual({ code: -32_000, message: "data is empty" });
    expect(await upload({ data: "####" })).toEqual(params("data", "illegal base64 data"));
    expect(await upload({ proof: { lemma: Array(5_000).fill(UNKNOWN), path: [] } })).toEqual(
      params("proof", "invalid proof"),
    );
    expect(await failure("zgs_uploadSegment", [])).toEqual(params("segment", "expected a segment"));
    expect(await failure("zgs_uploadSegments", [Array(401).fill({})])).toMatchObject({
      code: -32_602,
    });
    expect(await call("zgs_getFileInfo", [other.root, false])).toMatchObject({
      uploadedSegNum: 0,
      finalized: false,
    });

    expect(await call("zgs_uploadSegment", [segment(0)])).toBeNull();
    expect(await failure("zgs_uploadSegment", [segment(0)])).toEqual({
      code: -32_000,
      message: "segment has already been uploaded or is being uploaded",
    });
    expect(await call("indexer_getFileLocations", [other.root])).toBeNull();
    expect(await call("zgs_downloadSegment", [other.root, 0, 1])).toBeNull();
    const { seq } = ((await call("zgs_getFileInfo", [other.root, false])) as { tx: { seq: number } }).tx;
    expect(await call("zgs_uploadSegmentsByTxSeq", [[segment(0), segment(1)], seq])).toBe(0);
    expect(await call("zgs_uploadSegmentByTxSeq", [segment(2), seq])).toBe(0);
    // The older SDK repeats a call whose error it does not know, and fails at a known one.
    expect(await call("zgs_uploadSegmentsByTxSeq", [[segment(0), segment(2)], seq])).toBe(0);
    expect(await failure("zgs_uploadSegments", [[segment(0)]])).toEqual(
      params("root", "already uploaded and finalized"),
    );
    const wrong = await failure("zgs_uploadSegmentByTxSeq", [{ ...segment(0), root: UNKNOWN }, seq]);
    expect(wrong).toEqual({
      code: -32_603,
      message: "Internal error",
      data: "data root and tx seq not match",
    });
    const stored = await call("zgs_downloadSegment", [other.root, 0, 1_024]);
    expect(createHash("sha256").update(Buffer.from(stored, "base64")).digest()).toEqual(
      createHash("sha256").update(other.content.subarray(0, 262_144)).digest(),
    );
  });
});

describe("the key-value node", () => {
  const streamId = newStream();
  const base64 = (text: string) => Buffer.from(text).toString("base64");
  const large = randomBytes(300_000);
  let writer: Writer;
  let txSeq: bigint;
  beforeAll(async () => {
    const { app, rpcUrl } = stack();
    writer = await newWriter(rpcUrl);
    const set = (key: string, value: Buffer) => ({ streamId, key: Buffer.from(key), value });
    txSeq = await write(app, writer, {
      writes: [set("a", Buffer.from("first")), set("b", large), set("c", Buffer.from("last"))],
    });
    expect(await resultOf(app, txSeq)).toBe("Commit");
  });

  test("reads a value whole or by parts, at a version, and a missing one as empty", async () => {
    const version = Number(txSeq);
    const whole = { version, data: base64("first"), size: 5 };
    expect(await call("kv_getValue", [streamId, base64("a"), 0, 262_144])).toEqual(whole);
    expect(await call("kv_getValue", [streamId, base64("a"), "0", "262144", null])).toEqual(whole);
    // As clients in Go request the latest version.
    expect(
      (
        await post(
          `{"jsonrpc":"2.0","id":1,"method":"kv_getValue","params":["${streamId}","${base64("a")}",0,5,18446744073709551615]}`,
        )
      ).text,
    ).toContain(base64("first"));
    expect(await call("kv_getValue", [streamId, base64("a"), 1, 2])).toEqual({
      ...whole,
      data: base64("ir"),
    });
    expect(await call("kv_getValue", [streamId, base64("a"), 99, 0])).toEqual({ ...whole, data: "" });
    const absent = { version: 0, data: "", size: 0 };
    expect(await call("kv_getValue", [streamId, base64("none"), 0, 10])).toEqual(absent);
    expect(await call("kv_getValue", [UNKNOWN, base64("a"), 0, 10])).toEqual(absent);
    const refused = (param: string, data: string) => ({
      code: -32_602,
      message: `Invalid params: ${param}`,
      data,
    });
    expect(await failure("kv_getValue", [streamId, base64("a"), 6, 1])).toEqual(
      refused("start_index", "start index is greater than value length"),
    );
    expect(await failure("kv_getValue", [streamId, base64("a"), 0, 262_145])).toEqual(
      refused("len", "query length too large"),
    );
    expect(await failure("kv_getValue", [streamId, "", 0, 1])).toEqual(refused("key", "key is empty"));
    expect(await failure("kv_getValue", [streamId, "#", 0, 1])).toEqual(
      refused("key", "illegal base64 data"),
    );
    expect(await failure("kv_getValue", ["0x12", base64("a"), 0, 1])).toMatchObject({
      message: "Invalid params: stream_id",
    });
    expect(await failure("kv_getValue", [streamId, base64("a"), -1, 1])).toMatchObject({ code: -32_602 });
  });

  test("returns a value above 256 KiB by parts, and whole to a request for its first 256 KiB", async () => {
    const parts: Buffer[] = [];
    for (let start = 0; start < large.length; start += 100_000) {
      const { data } = await call("kv_getValue", [streamId, base64("b"), start, 100_000]);
      parts.push(Buffer.from(data, "base64"));
    }
    expect(Buffer.concat(parts).equals(large)).toBe(true);
    const whole: { data: string; size: number } = await call("kv_getValue", [
      streamId,
      base64("b"),
      0,
      262_144,
    ]);
    expect([whole.size, Buffer.from(whole.data, "base64").equals(large)]).toEqual([300_000, true]);
  });

  test("returns no more than was requested where KV_WHOLE_VALUES is off", async () => {
    const { app } = stack();
    const strict = { ...app, config: { ...app.config, KV_WHOLE_VALUES: "off" as const } };
    const params = new RpcParams([streamId, base64("b"), 0, 262_144]);
    const answer = await KV_METHODS.kv_getValue?.({
      ...{ app: strict, params, origin: "" },
      ...{ signal: new AbortController().signal, needMemory() {} },
    });
    const { data, size } = answer as { data: Base64Bytes; size: number };
    expect([size, data.bytes.equals(large.subarray(0, 262_144))]).toEqual([300_000, true]);
  });

  test("iterates over keys from either end and from any key", async () => {
    const keyOf = (pair: unknown) => pair && Buffer.from((pair as { key: string }).key, "base64").toString();
    expect(keyOf(await call("kv_getFirst", [streamId, 0, 0]))).toBe("a");
    expect(keyOf(await call("kv_getLast", [streamId, 0, 0]))).toBe("c");
    expect(keyOf(await call("kv_getNext", [streamId, base64("a"), 0, 0, true]))).toBe("a");
    expect(keyOf(await call("kv_getNext", [streamId, base64("a"), 0, 0, false]))).toBe("b");
    expect(keyOf(await call("kv_getPrev", [streamId, base64("bb"), 0, 0, true]))).toBe("b");
    expect(await call("kv_getNext", [streamId, base64("c"), 0, 0, false])).toBeNull();
    expect(await call("kv_getLast", [streamId, 0, 4])).toEqual({
      ...{ version: Number(txSeq), key: base64("c"), data: base64("last"), size: 4 },
    });
    expect(await call("kv_getFirst", [UNKNOWN, 0, 0])).toBeNull();
  });

  test("returns the writers, the streams it holds, and how far it has replayed", async () => {
    const admin = writer.address;
    expect(await call("kv_isAdmin", [admin, streamId])).toBe(true);
    expect(await call("kv_IsAdmin", [admin, streamId])).toBe(true);
    expect(await call("kv_isAdmin", [admin, streamId, Number(txSeq) - 1])).toBe(false);
    expect(await call("kv_hasWritePermission", [admin, streamId, base64("a")])).toBe(true);
    const nobody = `0x${"1".repeat(40)}`;
    expect(await call("kv_hasWritePermission", [nobody, streamId, base64("a")])).toBe(false);
    expect(await call("kv_isWriterOfStream", [nobody, streamId])).toBe(false);
    expect(await call("kv_isWriterOfKey", [nobody, streamId, base64("a")])).toBe(false);
    expect(await call("kv_isSpecialKey", [streamId, base64("a")])).toBe(false);
    expect(await call("kv_getHoldingStreamIds")).toEqual([streamId]);
    expect(await call("kv_getTransactionResult", [Number(txSeq)])).toBe("Commit");
    expect(await call("kv_getTransactionResult", [txSeq.toString()])).toBe("Commit");
    expect(await call("kv_getTransactionResult", [10 ** 6])).toBeNull();
    expect(await call("kv_getReplayProgress")).toEqual({ appliedSeq: Number(txSeq) + 1, firstTxSeq: 0 });
  });
});

async function post(body: string | Buffer) {
  const reply = await fetch(stack().origin, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: typeof body === "string" ? body : new Uint8Array(body),
  });
  return { status: reply.status, text: await reply.text() };
}

async function ask(method: string, params?: readonly unknown[]): Promise<Answer> {
  const { status, text } = await post(
    JSON.stringify({ jsonrpc: "2.0", id: 1, method, ...(params && { params }) }),
  );
  expect(status).toBe(200);
  return JSON.parse(text) as Answer;
}

/** The result of a call, of any shape. */
async function call(method: string, params?: readonly unknown[]): Promise<never> {
  const { result, error } = await ask(method, params);
  expect(error).toBeUndefined();
  return result as never;
}

/** The error of a call. */
async function failure(method: string, params?: readonly unknown[]) {
  const { error } = await ask(method, params);
  expect(error).toBeDefined();
  return error;
}
