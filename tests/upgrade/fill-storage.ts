import { type Hex, keccak256 } from "viem";
import { readEnvelope } from "../support/envelope.ts";
import { encodeFolder } from "../support/storage/folder.ts";
import { newWriter, type Writer } from "../support/storage/kv.ts";
import { type PublishedFile, prepareFile, startPublisher } from "../support/storage/publisher.ts";
import { until } from "../support/until.ts";
import { call, query, type Target } from "./calls.ts";

/** What was stored. Contents can be made again from their seeds. */
export type FilledStorage = {
  /** Complete files: two plain ones, and a folder with both. */
  readonly files: readonly { readonly root: Hex; readonly sizeBytes: number; readonly seed?: number }[];
  /** A file on chain of which one segment is missing. */
  readonly partial: {
    readonly root: Hex;
    readonly seed: number;
    readonly sizeBytes: number;
    readonly missing: number;
  };
  readonly stream: { readonly streamId: Hex; readonly writer: Hex; readonly txSeqs: readonly string[] };
};

const [SMALL_BYTES, LARGE_BYTES, PARTIAL_BYTES] = [777, 300_000, 600_001];
const MISSING = 1;
const STREAM: Hex = `0x${"75".repeat(32)}`;

/** The content of a seed: distinct in every chunk, and small when compressed. */
export function contentOf(seed: number, sizeBytes: number): Buffer {
  const lines = Array.from({ length: Math.ceil(sizeBytes / 32) }, (_, n) =>
    `file ${seed} line ${n}`.padEnd(32),
  );
  return Buffer.from(lines.join("")).subarray(0, sizeBytes);
}

/** Stores complete files, a folder, a part of a file, a segment of a file that is not on chain, and key-values. */
export async function fillStorage(target: Target): Promise<FilledStorage> {
  const publisher = await startPublisher(target);
  const small = await publisher.publish(contentOf(1, SMALL_BYTES));
  const large = await publisher.publish(contentOf(2, LARGE_BYTES));
  const folder = await publisher.publish(folderOf(small, large));
  const partial = prepareFile(contentOf(3, PARTIAL_BYTES));
  await publisher.submit(partial);
  for (const segment of partial.segments.filter(({ index }) => index !== MISSING))
    await requireStored(publisher.post({ root: partial.root, ...segment }));
  const unsubmitted = prepareFile(contentOf(4, SMALL_BYTES));
  await uploadUnsubmitted(target, unsubmitted);
  return {
    files: [
      { root: small.root, sizeBytes: small.sizeBytes, seed: 1 },
      { root: large.root, sizeBytes: large.sizeBytes, seed: 2 },
      { root: folder.root, sizeBytes: folder.sizeBytes },
    ],
    partial: { root: partial.root, seed: 3, sizeBytes: partial.sizeBytes, missing: MISSING },
    stream: await fillStream(target),
  };
}

function folderOf(small: PublishedFile, large: PublishedFile): Buffer {
  const entry = (name: string, file: PublishedFile) => ({
    name,
    type: "file",
    roots: [file.root],
    size: file.sizeBytes,
  });
  return encodeFolder({
    name: "/",
    type: "directory",
    entries: [entry("small", small), entry("large", large)],
  });
}

/** Uploads before the submission, as clients of the network's nodes may. */
async function uploadUnsubmitted(
  target: Target,
  { root, sizeBytes, segments }: PublishedFile,
): Promise<void> {
  const segment = { root, fileSize: sizeBytes, ...segments[0] };
  const body = { jsonrpc: "2.0", id: 1, method: "zgs_uploadSegment", params: [segment] };
  const reply = await call<{ error?: object }>(target, "/", undefined, { body });
  if (reply.error) throw new Error(JSON.stringify(reply));
}

async function requireStored(posted: Promise<Response>): Promise<void> {
  const reply = await posted;
  if (reply.status !== 200) throw new Error(`a segment: ${reply.status} ${await reply.text()}`);
}

/** A stream with a value that was overwritten, one that was deleted, and the role of another account. */
async function fillStream(target: Target): Promise<FilledStorage["stream"]> {
  const writer = await newWriter(target.rpcUrl);
  const other = await newWriter(target.rpcUrl);
  const streamId = STREAM;
  const first = await writeStream(target, writer, {
    writes: [
      { streamId, keyText: "name", text: "Ada" },
      { streamId, keyText: "temporary", text: "soon deleted" },
      { streamId, key: keccak256("0x00"), text: "a binary key" },
    ],
  });
  const second = await writeStream(target, writer, {
    writes: [{ streamId, keyText: "name", text: "Ada L." }],
    deletes: [{ streamId, keyText: "temporary" }],
    controls: [{ op: "GRANT_WRITER_ROLE", streamId, account: other.address }],
  });
  return { streamId, writer: writer.address, txSeqs: [first, second] };
}

const PREPARE = `query ($input: PrepareKvWriteInput!) { prepareKvWrite(input: $input) {
  content upload { root transaction { to data value } } } }`;

/** Writes to a stream with a wallet. Resolves with the sequence number of the transaction once it is replayed. */
export async function writeStream(target: Target, writer: Writer, changes: object): Promise<string> {
  const data = await query(target, undefined, PREPARE, { input: { from: writer.address, ...changes } });
  const { content, upload } = data.prepareKvWrite as {
    content: string;
    upload: { root: Hex; transaction: { to: Hex; data: Hex; value: string } };
  };
  const { to, data: input, value } = upload.transaction;
  const hash = await writer.wallet.sendTransaction({ to, data: input, value: BigInt(value) });
  await writer.wallet.waitForTransactionReceipt({ hash });
  await until(async () => (await readEnvelope(`${target.origin}/file/info/${upload.root}`)).code === 0);
  const { post } = await startPublisher(target);
  for (const segment of prepareFile(Buffer.from(content, "base64")).segments)
    await requireStored(post({ root: upload.root, ...segment }));
  const file = `{ file(root: "${upload.root}") { firstTxSeq } }`;
  const { firstTxSeq } = (await query(target, undefined, file)).file;
  await until(async () => {
    const found = await query(target, undefined, `{ kvTransaction(txSeq: "${firstTxSeq}") { committed } }`);
    return found.kvTransaction?.committed === true;
  });
  return firstTxSeq;
}
