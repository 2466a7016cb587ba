import { availableParallelism } from "node:os";
import { join } from "node:path";
import type { Queries, Transaction } from "../../db/database.ts";
import type { Hex } from "../../kernel/hex.ts";
import type { Life, Parts } from "../../parts.ts";
import { HashPool } from "../keccak/hash-pool.ts";
import { Keccak } from "../keccak/keccak.ts";
import { DiskNode } from "./disk-node.ts";
import { FileReader } from "./file-reader.ts";
import type { NodeFile, StorageNode } from "./storage-node.ts";

/** What keeps files and reads them. */
export type NodeRoom = Life & {
  readonly node: StorageNode;
  readonly reader: FileReader;
  readonly keccak: Keccak;
  readonly hasher: HashPool;
  /** What the handler of submissions is to tell, in its transaction, when files are on a disk of ours. */
  readonly disk: Custodian | undefined;
};

/** Who keeps files for the chain, and is told what the chain knows. */
export type Custodian = {
  /** Returns the files that are finalized by these submissions. */
  submitted(
    tx: Queries,
    submissions: readonly { readonly root: Hex; readonly sectors: bigint }[],
  ): Promise<readonly NodeFile[]>;
  reverted(tx: Queries, roots: readonly Hex[]): Promise<void>;
};

type Options = {
  /** Where this product answers, for those who are told where files are. */
  readonly url: () => string;
  /** Told of every file that got segments on a disk of ours, in the transaction that counts them. */
  readonly progressed?: (tx: Transaction, files: readonly NodeFile[]) => Promise<void>;
};

/** Builds what keeps files: a node of our own on disk, or the nodes of the network. */
export function openNodeRoom(parts: Parts, options: Options): NodeRoom {
  const { config, network, database, log, committed } = parts;
  const keccak = new Keccak();
  const threads = config.STORAGE_HASH_THREADS ?? Math.min(4, Math.max(1, availableParallelism() - 1));
  const hasher = new HashPool({ keccak, threads });
  const disk = new DiskNode({
    database,
    chainId: network.chainId,
    log,
    keccak,
    hasher,
    folder: config.STORAGE_DIR ?? join(config.DATA_DIR, "storage"),
    quotaBytes: config.STORAGE_QUOTA_GIB * 2 ** 30,
    unsubmittedHours: config.STORAGE_UNSUBMITTED_HOURS,
    committed,
    ...options,
  });
  return {
    node: disk,
    disk,
    reader: new FileReader({ node: disk, cacheBytes: config.STORAGE_CACHE_MIB * 2 ** 20 }),
    keccak,
    hasher,
    work: () => disk.start(),
    async stop() {
      await disk.close();
      await hasher.close();
    },
  };
}
