// @module-tag large
import { beforeAll, expect, test } from "vitest";
import type { Hex } from "../../src/kernel/text/hex.ts";
import { handlesOf } from "../support/chain/agent-chain.ts";
import { ask, followEvents, followSocket } from "../support/clients/graph-client.ts";
import { useStack } from "../support/stack.ts";
import { newStream, newWriter, resultOf, submit, type Writer } from "../support/storage/kv.ts";
import { until } from "../support/until.ts";

const stack = useStack();
const query = async (text: string, variables: object = {}) => {
  const { data, errors } = await ask(stack().origin, undefined, text, variables);
  const { code, param } = errors?.[0]?.extensions ?? {};
  return { data, code, param, message: errors?.[0]?.message };
};

const PREPARE = `query ($input: PrepareKvWriteInput!) { prepareKvWrite(input: $input) { content tags streamIds
  upload { root sizeBytes fee transaction { from to data value } } segments { index data proof { lemma path } } } }`;
const UPLOAD = "mutation ($input: UploadSegmentInput!) { uploadSegment(input: $input) { outcome } }";

let writer: Writer;
beforeAll(async () => {
  writer = await newWriter(stack().rpcUrl);
});

/** Writes through GraphQL and the writer's wallet alone. Returns the transaction's sequence number. */
async function write(input: object): Promise<bigint> {
  const { data, message } = await query(PREPARE, { input: { from: writer.address, ...input } });
  if (!data?.prepareKvWrite) throw new Error(message);
  const { upload, segments } = data.prepareKvWrite;
  const { to, data: call, value } = upload.transaction as { to: Hex; data: Hex; value: string };
  const txSeq = await submit(writer, { transaction: { to, data: call, value: BigInt(value) } } as never);
  for (const segment of segments)
    await until(async () => {
      const uploaded = await query(UPLOAD, { input: { root: upload.root, ...segment } });
      return uploaded.data?.uploadSegment?.outcome === "STORED";
    });
  expect(await resultOf(stack().app, txSeq)).toBe("Commit");
  return txSeq;
}

test("a stream is written, read, listed and watched through GraphQL alone", async () => {
  const streamId = newStream();
  const following = await followSocket(
    stack().origin,
    undefined,
    `subscription { kvChanged(streamId: "${streamId}") { cursor txSeq removed transaction { result } } }`,
  );
  const writes = [
    { streamId, keyText: "user/1", text: "Ada" },
    { streamId, keyText: "user/2", text: "Grace" },
    { streamId, key: "0xff", base64: Buffer.of(0xff, 0).toString("base64") },
  ];
  const first = await write({ writes });
  const second = await write({
    version: first.toString(),
    writes: [{ ...writes[0], text: "Ada L." }],
    deletes: [{ streamId, keyText: "user/2" }],
  });

  const { data } = await query(
    `query ($id: Hash32!, $before: BigInt!, $account: Address!) {
      kvStream(streamId: $id) { streamId firstVersion
        entries { nodes { keyText key text base64 sizeBytes version } }
        old: entries(prefixText: "user/", version: $before, reverse: true) { nodes { keyText text } }
        value(keyText: "user/1") { text version transaction { result committed sender { address } file { root } } }
        gone: value(keyText: "user/2") { text }
        rights(account: $account) { isAdmin hasWritePermission } }
      kvValue(streamId: $id, keyText: "user/1", version: $before) { text }
      kvEntries(streamId: $id, first: 1) { nodes { keyText } pageInfo { hasNextPage endCursor } }
      kvTransaction(txSeq: $before) { result txSeq }
      kvStreams { nodes { streamId } } }`,
    { id: streamId, before: first.toString(), account: writer.address },
  );
  const { kvStream, kvValue, kvEntries, kvTransaction, kvStreams } = data;
  expect(kvStream).toMatchObject({ streamId, firstVersion: first.toString(), gone: null });
  expect(kvStream.entries.nodes).toEqual([
    {
      keyText: "user/1",
      key: "0x757365722f31",
      text: "Ada L.",
      base64: "QWRhIEwu",
      sizeBytes: "6",
      version: `${second}`,
    },
    { keyText: null, key: "0xff", text: null, base64: "/wA=", sizeBytes: "2", version: `${first}` },
  ]);
  expect(kvStream.old.nodes).toEqual([
    { keyText: "user/2", text: "Grace" },
    { keyText: "user/1", text: "Ada" },
  ]);
  expect(kvStream.value.transaction).toMatchObject({ result: "Commit", committed: true });
  expect(kvStream.value.transaction.sender.address.toLowerCase()).toBe(writer.address);
  expect(kvStream.value.transaction.file.root).toMatch(/^0x/);
  expect(kvStream.rights).toEqual({ isAdmin: true, hasWritePermission: true });
  expect(kvValue).toEqual({ text: "Ada" });
  expect(kvEntries).toMatchObject({ nodes: [{ keyText: "user/1" }], pageInfo: { hasNextPage: true } });
  expect(kvTransaction).toEqual({ result: "Commit", txSeq: first.toString() });
  expect(kvStreams.nodes).toContainEqual({ streamId });
  const rest = `{ kvEntries(streamId: "${streamId}", first: 5, after: "${kvEntries.pageInfo.endCursor}") { nodes { key } } }`;
  expect((await query(rest)).data.kvEntries.nodes).toEqual([{ key: "0xff" }]);

  await until(() => following.results.length === 2);
  const events = following.results.map(({ data: event }) => event.kvChanged);
  expect(events.map(({ txSeq, removed, transaction }) => [txSeq, removed, transaction.result])).toEqual([
    [`${first}`, false, "Commit"],
    [`${second}`, false, "Commit"],
  ]);
  await following.stop();
  const resumed = await followEvents(
    stack().origin,
    undefined,
    `subscription { kvChanged(streamId: "${streamId}", after: "${events[0].cursor}") { txSeq } }`,
  );
  await until(() => resumed.results.length === 1);
  expect(resumed.results[0]?.data.kvChanged).toEqual({ txSeq: `${second}` });
  await resumed.stop();
});

test("the event of a reverted transaction shows no other one that has its sequence number since", async () => {
  const streamId = newStream();
  const of = `kvChanged(streamId: "${streamId}"`;
  const fields = "cursor txSeq removed transaction { file { root } }";
  const live = await followSocket(stack().origin, undefined, `subscription { ${of}) { ${fields} } }`);
  await write({ writes: [{ streamId, keyText: "k", text: "before" }] });
  const txSeq = await write({ writes: [{ streamId, keyText: "k", text: "reverted" }] });
  const { data } = await query(
    "query ($n: BigInt!) { file(txSeq: $n) { submissions { nodes { transactionHash } } } }",
    {
      n: `${txSeq}`,
    },
  );
  await handlesOf(stack().rpcUrl).revert(data.file.submissions.nodes[0].transactionHash);
  await until(() => live.results.length === 3);
  expect(await write({ writes: [{ streamId, keyText: "k", text: "in its place" }] })).toBe(txSeq);
  await until(() => live.results.length === 4);
  const [before, , , last] = live.results.map(({ data: event }) => event.kvChanged);
  await live.stop();

  const replay = `subscription { ${of}, after: "${before.cursor}") { ${fields} } }`;
  const again = await followSocket(stack().origin, undefined, replay);
  await until(() => again.results.length === 3);
  expect(again.results.map(({ data: event }) => event.kvChanged)).toMatchObject([
    { txSeq: `${txSeq}`, removed: false, transaction: null },
    { txSeq: `${txSeq}`, removed: true, transaction: null },
    { txSeq: `${txSeq}`, removed: false, transaction: last.transaction },
  ]);
  expect(last.transaction.file.root).toMatch(/^0x/);
  await again.stop();
});

test("a submission shows its effect on streams", async () => {
  const streamId = newStream();
  const txSeq = await write({ writes: [{ streamId, keyText: "k", text: "v" }] });
  const { data } = await query(
    "{ files(first: 1) { nodes { submissions { nodes { txSeq kvTransaction { result } } } } } }",
  );
  const [submission] = data.files.nodes[0].submissions.nodes;
  expect(submission).toEqual({ txSeq: `${txSeq}`, kvTransaction: { result: "Commit" } });
});

test("half of a surrogate pair is refused by the name of its field, and never written as another character", async () => {
  const streamId = newStream();
  const half = "a\ud800";
  const refused = async (input: object) => {
    const { code, param } = await query(PREPARE, { input: { from: writer.address, ...input } });
    return [code, param];
  };
  const entry = { streamId, keyText: "k", text: "v" };
  const cases = [
    [{ writes: [entry, { ...entry, text: half }] }, "writes.1.text"],
    [{ writes: [{ ...entry, keyText: half }] }, "writes.0.keyText"],
    [{ deletes: [{ streamId, keyText: half }] }, "deletes.0.keyText"],
    [{ writes: [entry], reads: [{ streamId, keyText: half }] }, "reads.0.keyText"],
  ] as const;
  for (const [input, field] of cases) expect(await refused(input)).toEqual(["invalid_parameter", field]);
  const value = "query ($id: Hash32!, $k: String) { kvValue(streamId: $id, keyText: $k) { text } }";
  expect(await query(value, { id: streamId, k: half })).toMatchObject({ param: "keyText" });
  const entries =
    "query ($id: Hash32!, $k: String) { kvEntries(streamId: $id, prefixText: $k) { nodes { text } } }";
  expect(await query(entries, { id: streamId, k: half })).toMatchObject({ param: "prefixText" });
});

test("an invalid write is refused before the wallet pays for it", async () => {
  const streamId = newStream();
  const refused = async (input: object) => {
    const { code, param } = await query(PREPARE, { input: { from: writer.address, ...input } });
    return [code, param];
  };
  const key = { streamId, keyText: "k" };
  const written = { ...key, text: "v" };
  const wrong: (readonly [input: object, field?: string])[] = [
    [{}, "writes"],
    [{ reads: [key] }, "writes"],
    [{ writes: [written, { ...key, text: "" }] }, "writes.1.text"],
    [{ writes: [key] }, "writes.0"],
    [{ writes: [{ ...key, text: "v", base64: "AAAA" }] }, "writes.0"],
    [{ writes: [written, { ...key, base64: "#" }] }, "writes.1.base64"],
    [{ writes: [{ streamId, text: "v" }] }, "writes.0"],
    [{ writes: [{ ...key, key: "0x00", text: "v" }] }, "writes.0"],
    [{ writes: [{ streamId, keyText: "", text: "v" }] }, "writes.0"],
    [{ writes: [written], reads: [key, { streamId }] }, "reads.1"],
    [{ writes: [written], deletes: [{ streamId, key: "0x00", keyText: "k" }] }, "deletes.0"],
    [{ controls: [{ op: "GRANT_ADMIN_ROLE", streamId }] }, "controls.0"],
    [{ writes: [written], controls: [{ op: "SET_KEY_TO_SPECIAL", ...key, key: "0x00" }] }, "controls.0"],
    [{ controls: [{ op: "RENOUNCE_WRITER_ROLE", streamId, account: writer.address }] }, "controls.0"],
    [{ writes: [written], version: (2n ** 64n).toString() }, "version"],
    [{ writes: [written], recipientPublicKey: "0x02" }, "recipientPublicKey"],
  ];
  for (const [input, field] of wrong)
    expect([input, await refused(input)]).toEqual([input, ["invalid_parameter", field]]);
  const value = (args: string) => query(`{ kvValue(streamId: "${streamId}", ${args}) { sizeBytes } }`);
  expect((await value('key: "0x00", keyText: "k"')).code).toBe("invalid_parameter");
  expect((await value('key: "0x"')).code).toBe("invalid_parameter");
  expect((await value('keyText: "k"')).data.kvValue).toBeNull();
  const known = newStream();
  await write({ writes: [{ ...written, streamId: known }] });
  for (const name of ["key", "keyText"]) {
    const empty = `account: "${writer.address}", ${name}: "${name === "key" ? "0x" : ""}"`;
    const { code, param } = await query(
      `{ kvStream(streamId: "${known}") { rights(${empty}) { isAdmin } } }`,
    );
    expect([code, param]).toEqual(["invalid_parameter", name]);
  }
});
