import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { Database, Transaction } from "../../../src/db/database.ts";
import { createLogger } from "../../../src/kernel/log.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import { Keccak } from "../../../src/storage/keccak/keccak.ts";
import { type FileTree, hashBytes } from "../../../src/storage/merkle/file-tree.ts";
import { toHex } from "../../../src/storage/merkle/proof.ts";
import { SEGMENT_BYTES, segmentBytes } from "../../../src/storage/merkle/shape.ts";
import { DiskNode } from "../../../src/storage/node/disk/disk-node.ts";
import type { NodeFile, Segment, StorageNode } from "../../../src/storage/node/storage-node.ts";
import type { OnEnd } from "../servers/database.ts";

export const CHAIN_ID = 16_602;
const keccak = new Keccak();

/** A file as its owner has it. */
export type OwnFile = {
  readonly bytes: Buffer;
  readonly tree: FileTree;
  readonly root: Hex;
  segment(index: number): Segment;
};

/** A file of random bytes, or of these. */
export function newFile(content: number | Buffer): OwnFile {
  const bytes = typeof content === "number" ? randomBytes(content) : content;
  const tree = hashBytes(keccak, bytes);
  return {
    bytes,
    tree,
    root: tree.root,
    segment(index) {
      const data = Buffer.alloc(segmentBytes(tree.shape, index));
      bytes.copy(data, 0, index * SEGMENT_BYTES);
      return { root: tree.root, index, data, proof: tree.proof(index), sizeBytes: bytes.length };
    },
  };
}

/**
 * Writes a row as the chain's watcher does, and notifies the node in the same transaction. Returns the
 * sequence number.
 */
export async function submit(
  database: Database,
  node: DiskNode | undefined,
  file: OwnFile,
  fields: { readonly sizeBytes?: number; readonly sectors?: number } = {},
): Promise<bigint> {
  return submitAll(database, node, [{ ...fields, file }]);
}

/** Writes rows of many files, in their order. Returns the sequence number of the last. */
export async function submitAll(
  database: Database,
  node: DiskNode | undefined,
  all: readonly { readonly file: OwnFile; readonly sizeBytes?: number; readonly sectors?: number }[],
): Promise<bigint> {
  const rows = all.map(({ file, sizeBytes, sectors }, at) => ({
    at,
    root: file.root,
    size_bytes: sizeBytes ?? file.bytes.length,
    sectors: sectors ?? file.tree.shape.paddedChunks,
    nodes: file.tree.nodes,
    transaction_hash: toHex(randomBytes(32)),
  }));
  return database.transaction(async (tx) => {
    const made = await tx.rows<{ seq: string }>(
      `insert into submission (chain_id, tx_seq, root, submitter, transaction_sender, identity, size_bytes,
        start_entry_index, sectors, tags, nodes, transaction_hash, log_index, block_number, block_hash)
      select $1::bigint, at + coalesce((select max(tx_seq) + 1 from submission), 0), root, '0x', '0x', root, size_bytes,
        1024, sectors, '0x', nodes, transaction_hash, 0, 1, '0x'
      from jsonb_to_recordset($2::text::jsonb) as a(at int, root text, size_bytes numeric, sectors numeric,
        nodes jsonb, transaction_hash text)
      returning tx_seq::text as seq`,
      [CHAIN_ID, JSON.stringify(rows)],
    );
    await node?.submitted(
      tx,
      rows.map(({ root, sectors }) => ({ root, sectors: BigInt(sectors) })),
    );
    return made.reduce((last, { seq }) => (BigInt(seq) > last ? BigInt(seq) : last), 0n);
  });
}

/** Removes all submissions of a file, as a reorg does. */
export async function unsubmit(database: Database, node: DiskNode, file: OwnFile): Promise<void> {
  await database.transaction(async (tx) => {
    await tx.rows("delete from submission where root = $1", [file.root]);
    await node.reverted(tx, [file.root]);
  });
}

/** Uploads every segment, `lanes` at once. */
export async function upload(node: StorageNode, file: OwnFile, lanes = 4): Promise<void> {
  const all = Array.from({ length: file.tree.shape.segments }, (_, index) => index);
  await Promise.all(
    Array.from({ length: lanes }, async () => {
      for (let index = all.shift(); index !== undefined; index = all.shift())
        await node.put(file.segment(index));
    }),
  );
}

/** The file on the node; throws when it has none. */
export async function found(node: StorageNode, file: OwnFile): Promise<NodeFile> {
  const [known] = await node.find([{ root: file.root }]);
  if (!known) throw new Error("the node does not know this file");
  return known;
}

/** A node on a new folder. Closed at the test's end. */
export function openDisk(
  database: Database,
  options: {
    readonly folder?: string;
    readonly quotaBytes?: number;
    readonly verifies?: boolean;
    /** What hashes, by default an own one. */
    readonly keccak?: Keccak;
    readonly progressed?: (tx: Transaction, files: readonly NodeFile[]) => Promise<void>;
    readonly onEnd?: OnEnd;
  } = {},
): DiskNode & { readonly folder: string } {
  const { quotaBytes = 2 ** 40, verifies = true, onEnd = onTestFinished as OnEnd, progressed } = options;
  const { keccak: hashes = keccak } = options;
  const folder = options.folder ?? storageFolder(onEnd);
  const node = new DiskNode(
    {
      database,
      chainId: CHAIN_ID,
      log: createLogger("silent"),
      hashing: { keccak: hashes, hasher: hashes },
      ...(progressed && { listener: { progressed, committed() {} } }),
    },
    { folder, quotaBytes, unsubmittedHours: 24, verifies, url: () => "http://127.0.0.1:4000" },
  );
  onEnd(() => node.close());
  return Object.assign(node, { folder });
}

function storageFolder(onEnd: OnEnd): string {
  const folder = mkdtempSync(join(tmpdir(), "zerograph-storage-"));
  onEnd(async () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}
