import { flowAbi } from "../../../src/chain/abi/flow.ts";
import { DEMO_USER } from "../../../src/devnet/chain/accounts.ts";
import { connectDevnet, mined } from "../../../src/devnet/chain/chain-client.ts";
import { contractAddresses } from "../../../src/devnet/chain/deploy.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import { Keccak } from "../../../src/storage/keccak/keccak.ts";
import { type FileTree, hashBytes } from "../../../src/storage/merkle/file-tree.ts";
import type { SegmentProof } from "../../../src/storage/merkle/proof.ts";
import { SEGMENT_BYTES } from "../../../src/storage/merkle/shape.ts";
import { submissionSectors } from "../../../src/storage/submissions/submission.ts";
import { readEnvelope } from "../envelope.ts";
import type { Stack } from "../stack.ts";
import { until } from "../until.ts";

/** A segment as it is posted. */
type PostedSegment = {
  readonly index: number;
  readonly data: string;
  readonly proof: SegmentProof;
};

/** A file as a client prepares it. */
export type PublishedFile = {
  readonly content: Buffer;
  readonly root: Hex;
  readonly sizeBytes: number;
  readonly tree: FileTree;
  readonly segments: readonly PostedSegment[];
};

const PRICE_PER_SECTOR = 10n ** 9n;
const CHUNK_BYTES = 256;
const keccak = new Keccak();

/** The tree and the segments of a content, as clients of the network compute them. */
export function prepareFile(content: Buffer): PublishedFile {
  const tree = hashBytes(keccak, content);
  const segments = Array.from({ length: tree.shape.segments }, (_, index) => {
    const bytes = content.subarray(index * SEGMENT_BYTES, (index + 1) * SEGMENT_BYTES);
    const padded = Buffer.alloc(Math.ceil(bytes.length / CHUNK_BYTES) * CHUNK_BYTES);
    bytes.copy(padded);
    return { index, data: padded.toString("base64"), proof: tree.proof(index) };
  });
  return { content, root: tree.root, sizeBytes: content.length, tree, segments };
}

/** A client that submits files to Flow and uploads them over REST, one at a time. */
export async function startPublisher({ rpcUrl, origin }: Pick<Stack, "rpcUrl" | "origin">) {
  const wallet = await connectDevnet(rpcUrl, DEMO_USER.privateKey);
  const { flow } = contractAddresses();
  /** Submits a file, and waits until the product has read the submission. */
  async function submit({ root, sizeBytes, tree }: PublishedFile): Promise<void> {
    const nodes = tree.nodes.map((node) => ({ root: node.root, height: BigInt(node.height) }));
    const data = { length: BigInt(sizeBytes), tags: "0x", nodes } as const;
    const call = { address: flow, abi: flowAbi, functionName: "submit" } as const;
    const value = submissionSectors(tree.nodes) * PRICE_PER_SECTOR;
    const args = [{ data, submitter: DEMO_USER.address }] as const;
    await mined(wallet, await wallet.writeContract({ ...call, args, value }));
    // The status alone is not enough with STORAGE_STATUS=legacy.
    await until(async () => (await readEnvelope(`${origin}/file/info/${root}`)).code === 0);
  }
  /** Posts one segment, valid or not. */
  function post(body: object): Promise<Response> {
    return fetch(`${origin}/file/segment`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  }
  /** Submits a file and uploads all of it. */
  async function publish(content: Buffer): Promise<PublishedFile> {
    const file = prepareFile(content);
    await submit(file);
    for (const segment of file.segments) {
      const reply = await post({ root: file.root, ...segment });
      if (reply.status !== 200) throw new Error(`${reply.status} ${await reply.text()}`);
    }
    return file;
  }
  return { address: DEMO_USER.address, submit, post, publish };
}
