import { randomBytes } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { DEMO_USER } from "../../src/devnet/chain/accounts.ts";
import { connectDevnet, mined } from "../../src/devnet/chain/chain-client.ts";
import { contractAddresses } from "../../src/devnet/chain/deploy.ts";
import type { Hex } from "../../src/kernel/text/hex.ts";
import { ask, failureCode, followEvents, followSocket } from "../support/clients/graph-client.ts";
import { untilPublished } from "../support/events.ts";
import { useStack } from "../support/stack.ts";
import { encodeFolder } from "../support/storage/folder.ts";
import { type PublishedFile, prepareFile, startPublisher } from "../support/storage/publisher.ts";
import { until } from "../support/until.ts";

const stack = useStack();
const query = async (text: string, variables: object = {}) => {
  const answer = await ask(stack().origin, undefined, text, variables);
  const [error] = answer.errors ?? [];
  return {
    data: answer.data,
    code: failureCode(answer),
    message: error?.message,
    param: error?.extensions?.param,
  };
};

const PREPARE = `query ($input: PrepareUploadInput!) { prepareUpload(input: $input) {
  root sizeBytes segmentCount sectorCount fee alreadySubmitted alreadyFinalized nodes { root height }
  transaction { chainId from to data value warnings } proofs { lemma path } } }`;
const UPLOAD = `mutation ($input: UploadSegmentInput!) { uploadSegment(input: $input) {
  outcome file { root status uploadedSegmentCount segmentCount } userErrors { code field } } }`;

let publisher: Awaited<ReturnType<typeof startPublisher>>;
beforeAll(async () => {
  publisher = await startPublisher(stack());
});

/** Signs and sends the prepared transaction. */
async function send({ to, data, value }: { to: Hex; data: Hex; value: string }): Promise<void> {
  const wallet = await connectDevnet(stack().rpcUrl, DEMO_USER.privateKey);
  await mined(wallet, await wallet.sendTransaction({ to, data, value: BigInt(value) }));
}

describe("an upload", () => {
  test("goes from content to a stored file through GraphQL alone, and is paid for once", async () => {
    const content = Buffer.from("stored through the graph");
    const input = { content: content.toString("base64"), from: DEMO_USER.address };
    const prepared = (await query(PREPARE, { input })).data.prepareUpload;
    const file = prepareFile(content);
    expect(prepared).toMatchObject({
      root: file.root,
      sizeBytes: "24",
      segmentCount: 1,
      sectorCount: "1",
      fee: "1000000000",
      alreadySubmitted: false,
      nodes: file.tree.nodes,
      transaction: {
        chainId: 16_602,
        from: DEMO_USER.address,
        to: contractAddresses().flow,
        value: "1000000000",
        warnings: [],
      },
      proofs: [{ lemma: [file.root], path: [] }],
    });
    const following = await followSocket(
      stack().origin,
      undefined,
      `subscription { fileProgress(root: "${file.root}") {
        sequence status txSeq segmentCount uploadedSegmentCount cursor file { firstTxSeq } } }`,
    );
    await send(prepared.transaction);
    const known = `query ($root: Hash32!) { file(root: $root) { status finalized segmentCount uploadedSegmentCount } }`;
    await until(async () => (await query(known, { root: file.root })).data.file !== null);
    expect((await query(known, { root: file.root })).data.file).toEqual({
      status: "SUBMITTED",
      finalized: false,
      segmentCount: 1,
      uploadedSegmentCount: 0,
    });
    const again = (await query(PREPARE, { input })).data.prepareUpload;
    expect(again).toMatchObject({
      fee: "0",
      transaction: null,
      alreadySubmitted: true,
      alreadyFinalized: false,
    });
    const segment = { root: file.root, ...file.segments[0] };
    expect((await query(UPLOAD, { input: segment })).data.uploadSegment).toEqual({
      outcome: "STORED",
      file: { root: file.root, status: "FINALIZED", uploadedSegmentCount: 1, segmentCount: 1 },
      userErrors: [],
    });
    expect((await query(UPLOAD, { input: segment })).data.uploadSegment.outcome).toBe("FINALIZED");
    const done = (await query(PREPARE, { input })).data.prepareUpload;
    expect(done).toMatchObject({ transaction: null, alreadyFinalized: true });
    const paid = (await query(PREPARE, { input: { ...input, again: true } })).data.prepareUpload;
    expect(paid.transaction).toMatchObject({
      value: "1000000000",
      warnings: [expect.stringMatching(/pays/)],
    });
    const steps = await until(async () => following.results.length >= 2 && following.results);
    expect(steps.map(({ data }) => data.fileProgress)).toMatchObject([
      {
        sequence: 1,
        status: "SUBMITTED",
        segmentCount: 1,
        uploadedSegmentCount: 0,
        file: { firstTxSeq: expect.any(String) },
      },
      { sequence: 2, status: "FINALIZED", segmentCount: 1, uploadedSegmentCount: 1 },
    ]);
    await following.stop();
    const reply = await fetch(`${stack().origin}/file?root=${file.root}`);
    expect(await reply.text()).toBe("stored through the graph");
  });

  test("is not taken for a file of the same root with another size, and is paid for once", async () => {
    const [short, long] = [Buffer.from("a file that ends here"), Buffer.from("a file that ends here\0\0")];
    const prepare = async (content: Buffer) => {
      const input = { content: content.toString("base64"), from: DEMO_USER.address };
      return (await query(PREPARE, { input })).data.prepareUpload;
    };
    const first = await prepare(short);
    await send(first.transaction);
    await until(async () => (await prepare(short)).alreadySubmitted);
    const segment = { root: first.root, ...prepareFile(short).segments[0] };
    expect((await query(UPLOAD, { input: segment })).data.uploadSegment.outcome).toBe("STORED");

    const second = await prepare(long);
    expect(second).toMatchObject({
      ...{ root: first.root, sizeBytes: String(long.length), fee: "1000000000" },
      ...{ alreadySubmitted: false, alreadyFinalized: false, transaction: { warnings: [] } },
    });
    await send(second.transaction);
    const stored = await until(async () => {
      const now = await prepare(long);
      return now.alreadyFinalized && now;
    });
    expect(stored).toMatchObject({ fee: "0", alreadySubmitted: true, transaction: null });
    expect(await prepare(short)).toMatchObject({ alreadyFinalized: true, transaction: null });
    const { data } = await query(
      "query ($root: Hash32!) { file(root: $root) { submissions { nodes { txSeq } } } }",
      { root: first.root },
    );
    const [newest] = data.file.submissions.nodes;
    const reply = await fetch(`${stack().origin}/file?txSeq=${newest.txSeq}`);
    expect(Buffer.from(await reply.arrayBuffer())).toEqual(long);
  });

  test("is prepared from nodes as from content, for either ABI, to the calldata of the network's SDK", async () => {
    const file = prepareFile(Buffer.from(Array.from({ length: 700_000 }, (_, at) => at % 251)));
    const input = { sizeBytes: "700000", nodes: file.tree.nodes, from: `0x${"1".repeat(40)}`, tags: "0x" };
    const { data } = await query(PREPARE, { input });
    expect(data.prepareUpload).toMatchObject({
      root: "0xedc1104beb6fd3878e8252065418a3a1caa05857b1eebedfbdc7d5a738170962",
      sectorCount: "2816",
      segmentCount: 3,
      fee: String(2_816n * 10n ** 9n),
      proofs: null,
    });
    expect(data.prepareUpload.transaction.data).toMatch(/^0xbc8c11f8/);
    const legacy = await query(PREPARE, { input: { ...input, abi: "LEGACY" } });
    expect(legacy.data.prepareUpload.transaction.data).toMatch(/^0xef3e12dc/);
  });

  test.each([
    ["nothing", {}, "sizeBytes"],
    ["a size alone", { sizeBytes: "5" }, "root"],
    ["a size of 0", { sizeBytes: "0", root: `0x${"1".repeat(64)}` }],
    ["an impossible size", { sizeBytes: String(2 ** 40), root: `0x${"1".repeat(64)}` }],
    ["a root for several nodes", { sizeBytes: "700000", root: `0x${"1".repeat(64)}` }],
    ["nodes of another size", { sizeBytes: "5", nodes: [{ root: `0x${"1".repeat(64)}`, height: 3 }] }],
    ["content of another root", { content: "aGk=", root: `0x${"1".repeat(64)}` }],
    ["content of another size", { content: "aGk=", sizeBytes: "5" }, "sizeBytes"],
    [
      "content of other nodes",
      { content: "aGk=", nodes: [{ root: `0x${"1".repeat(64)}`, height: 0 }] },
      "nodes",
    ],
    ["empty content", { content: "" }, "content"],
    ["content that is not base64", { content: "a?" }],
  ])("of %s is refused before anything is paid", async (_what, input, member?: string) => {
    const { code, param } = await query(PREPARE, { input: { ...input, from: DEMO_USER.address } });
    expect(code).toBe("invalid_parameter");
    if (member !== undefined) expect(param).toBe(member);
  });

  test("of a segment without its file names a member", async () => {
    const { index, data, proof } = prepareFile(randomBytes(600)).segments[0] ?? {};
    const { data: answered } = await query(UPLOAD, { input: { index, data, proof } });
    expect(answered.uploadSegment.userErrors).toEqual([{ code: "invalid_parameter", field: "root" }]);
  });

  test("of an invalid segment or one of no file is refused", async () => {
    const file = prepareFile(randomBytes(600));
    const input = { root: file.root, ...file.segments[0] };
    expect((await query(UPLOAD, { input })).code).toBe("file_not_found");
    await publisher.submit(file);
    const wrong = { ...input, data: Buffer.alloc(768).toString("base64") };
    expect((await query(UPLOAD, { input: wrong })).code).toBe("segment_refused");
    expect((await query(UPLOAD, { input: { ...input, root: null } })).code).toBe("invalid_parameter");
  });

  test("is followed to its end by late and reconnecting subscribers, and not by one that has received the end", async () => {
    const file = prepareFile(randomBytes(700_000));
    await publisher.submit(file);
    // Events after the cursor are delivered again, though the snapshot already had their state.
    await untilPublished(stack().app.database);
    const text = (after = "") =>
      `subscription { fileProgress(root: "${file.root}"${after}) { id sequence status uploadedSegmentCount cursor } }`;
    const following = await followEvents(stack().origin, undefined, text());
    const [first] = await until(() => following.results.length > 0 && following.results);
    for (const segment of file.segments) await publisher.post({ root: file.root, ...segment });
    await following.closed;
    const seen = following.results.map(({ data }) => data.fileProgress);
    expect(seen.map(({ status, uploadedSegmentCount }) => [status, uploadedSegmentCount])).toEqual([
      ["SUBMITTED", 0],
      ["SUBMITTED", 1],
      ["SUBMITTED", 2],
      ["FINALIZED", 3],
    ]);
    const resumed = await followEvents(
      stack().origin,
      undefined,
      text(`, after: "${first?.data.fileProgress.cursor}"`),
    );
    await resumed.closed;
    expect(resumed.results.map(({ data }) => data.fileProgress)).toEqual(seen.slice(1));
    const late = await followEvents(stack().origin, undefined, text());
    await late.closed;
    expect(late.results.map(({ data }) => data.fileProgress.id)).toEqual([seen.at(-1).id]);
    const over = await followEvents(stack().origin, undefined, text(`, after: "${seen.at(-1).cursor}"`));
    await over.closed;
    expect(over.results).toEqual([]);
  });
});

describe("files", () => {
  let page: PublishedFile;
  let folder: PublishedFile;

  beforeAll(async () => {
    page = await publisher.publish(Buffer.from("<h1>hello</h1>"));
    const entries = [
      { name: "a b.html", type: "file", roots: [page.root], size: page.sizeBytes },
      { name: "link", type: "symbolic", link: "/etc/passwd" },
      { name: "sub", type: "directory", entries: [{ name: "empty", type: "file" }] },
    ];
    folder = await publisher.publish(encodeFolder({ name: "/", type: "directory", entries }));
  });

  test("that are folders list their entries, down to the stored files", async () => {
    const { data } = await query(
      `query ($root: Hash32!) { file(root: $root) {
        entries { nodes { name path kind sizeBytes link url files { root finalized } } }
        sub: entries(path: "/sub") { nodes { path kind sizeBytes roots url } }
        first: entries(first: 1) { nodes { name } pageInfo { hasNextPage endCursor } }
        entry(path: "a b.html") { url } } }`,
      { root: folder.root },
    );
    expect(data.file.first).toMatchObject({ nodes: [{ name: "a b.html" }], pageInfo: { hasNextPage: true } });
    const { endCursor } = data.file.first.pageInfo;
    const next = await query(
      `{ file(root: "${folder.root}") { entries(first: 5, after: "${endCursor}") { nodes { name } } } }`,
    );
    expect(next.data.file.entries.nodes).toEqual([{ name: "link" }, { name: "sub" }]);
    const foreign = `{ file(root: "${folder.root}") { entries(path: "/sub", after: "${endCursor}") { nodes { name } } } }`;
    expect(await query(foreign)).toMatchObject({ code: "invalid_cursor" });
    expect(data.file.entries.nodes).toEqual([
      {
        name: "a b.html",
        path: "/a b.html",
        kind: "FILE",
        sizeBytes: "14",
        link: null,
        url: `/file/${folder.root}/a%20b.html`,
        files: [{ root: page.root, finalized: true }],
      },
      {
        name: "link",
        path: "/link",
        kind: "SYMBOLIC",
        sizeBytes: null,
        link: "/etc/passwd",
        url: null,
        files: [],
      },
      {
        name: "sub",
        path: "/sub",
        kind: "DIRECTORY",
        sizeBytes: null,
        link: null,
        url: `/file/${folder.root}/sub`,
        files: [],
      },
    ]);
    expect(data.file.sub.nodes).toEqual([
      { path: "/sub/empty", kind: "FILE", sizeBytes: "0", roots: [], url: `/file/${folder.root}/sub/empty` },
    ]);
    const reply = await fetch(`${stack().origin}${data.file.entry.url}`);
    expect(await reply.text()).toBe("<h1>hello</h1>");
  });

  test.each([
    ['entries(path: "/none") { nodes { name } }', "file_path_not_found"],
    ['entries(path: "/link") { nodes { name } }', "file_path_not_found"],
    ['entries(path: "../x") { nodes { name } }', "invalid_parameter"],
    ['entry(path: "a\\u0000") { name }', "invalid_parameter"],
    ["proof(segment: 5) { path }", "invalid_parameter"],
    ["proof(segment: -1) { path }", "invalid_parameter"],
  ])("report for %s the error, and nothing else", async (field, code) => {
    const answer = await query(`{ file(root: "${folder.root}") { root ${field} } }`);
    expect([answer.code, answer.data.file.root]).toEqual([code, folder.root]);
  });

  test("show their locations, their proofs, and their submitters", async () => {
    const { data, code } = await query(
      `query ($root: Hash32!) { file(root: $root) {
        locations { url shardId shardCount } proof(segment: 0) { lemma path } pruned
        submissions { nodes { sender { address submissions(first: 1) { nodes { txSeq } } }
          submitter { address } file { root } } } } }`,
      { root: page.root },
    );
    expect(code).toBeUndefined();
    expect(data.file).toMatchObject({
      locations: [{ url: expect.stringMatching(/^http/), shardId: 0, shardCount: 1 }],
      proof: { lemma: [page.root], path: [] },
      pruned: false,
      submissions: {
        nodes: [
          {
            sender: { address: DEMO_USER.address },
            submitter: { address: DEMO_USER.address },
            file: { root: page.root },
          },
        ],
      },
    });
  });

  test("are listed newest first, page by page, all or by account", async () => {
    const listed = `query ($owner: Address, $after: Cursor) { files(filter: { owner: $owner }, first: 1, after: $after) {
      nodes { root submissions { nodes { txSeq } } } pageInfo { hasNextPage endCursor } } }`;
    const first = (await query(listed, { owner: DEMO_USER.address })).data.files;
    expect([first.nodes[0].root, first.pageInfo.hasNextPage]).toEqual([folder.root, true]);
    const next = (await query(listed, { after: first.pageInfo.endCursor })).data.files;
    expect(next.nodes[0].root).toBe(page.root);
    const nobody = await query(listed, { owner: `0x${"1".repeat(40)}` });
    expect(nobody.data.files.nodes).toEqual([]);
    expect((await query(listed, { after: "WyJ4Il0" })).code).toBe("invalid_cursor");
  });
});
