import { availableParallelism } from "node:os";
import { join } from "node:path";
import type { AppContext, Lifecycle } from "../../app-context.ts";
import type { Queries, Transaction } from "../../db/database.ts";
import { StartupError } from "../../kernel/errors.ts";
import type { Hex } from "../../kernel/text/hex.ts";
import { HashPool } from "../keccak/hash-pool.ts";
import { Keccak } from "../keccak/keccak.ts";
import type { Hashing } from "../merkle/file-tree.ts";
import { DiskNode } from "./disk/disk-node.ts";
import { FileReader } from "./file-reader.ts";
import { KnownNodes } from "./remote/known-nodes.ts";
import { NodeRpc } from "./remote/node-rpc.client.ts";
import { RemoteNode } from "./remote/remote-node.ts";
import type { NodeFile, StorageNode } from "./storage-node.ts";

/** The services that store and read files. */
export type NodeModule = Lifecycle & {
  readonly node: StorageNode;
  readonly reader: FileReader;
  /** Set when files are on a local disk: the handler of submissions must call it in its transaction. */
  readonly disk: SubmissionTarget | undefined;
};

/** Receives the submissions that the chain adds and removes. */
type SubmissionTarget = {
  /** Returns the files that are finalized by these submissions. */
  submitted(
    tx: Queries,
    submissions: readonly { readonly root: Hex; readonly sectors: bigint }[],
  ): Promise<readonly NodeFile[]>;
  reverted(tx: Queries, roots: readonly Hex[]): Promise<void>;
  /** Why the disk refuses uploads, in a few words; undefined if no write failed in the last 10 s. */
  readonly writeFault: string | undefined;
};

type Options = {
  /** The public URL of this product, listed as a location of files. */
  readonly url: () => string;
  /** Receives files with new segments; of a local disk in the transaction that counts them. */
  readonly progressed?: (tx: Transaction, files: readonly NodeFile[]) => Promise<void>;
};

/** Connect timeout for storage nodes, milliseconds. */
const CONNECT_MS = 3_000;

type FolderSettings = {
  readonly NETWORK: string;
  readonly STORAGE: "disk" | "network" | undefined;
  readonly STORAGE_DIR: string | undefined;
  readonly DATA_DIR: string;
};

/** The folder of the local storage node, and the setting that names it; undefined if the network's nodes are used. */
export function storageFolderOf(
  settings: FolderSettings,
): { readonly setting: string; readonly path: string } | undefined {
  const { NETWORK, STORAGE, STORAGE_DIR, DATA_DIR } = settings;
  const kind = STORAGE ?? (NETWORK === "devnet" ? "disk" : "network");
  if (kind === "network") return undefined;
  if (STORAGE_DIR !== undefined) return { setting: "STORAGE_DIR", path: STORAGE_DIR };
  return { setting: "DATA_DIR", path: join(DATA_DIR, "storage") };
}

/** Creates the file storage: a local node on disk, or the nodes of the network. */
export function createNodeModule(parts: AppContext, options: Options): NodeModule {
  const { config } = parts;
  const keccak = new Keccak();
  const threads = config.STORAGE_HASH_THREADS ?? Math.min(4, Math.max(1, availableParallelism() - 1));
  const hasher = new HashPool({ keccak, threads });
  const folder = storageFolderOf(config)?.path;
  const disk = folder === undefined ? undefined : openDisk(folder, parts, options, { keccak, hasher });
  const node = disk ?? openNetwork(parts, options, { keccak, hasher });
  return {
    node,
    disk,
    reader: new FileReader({ node, cacheBytes: config.STORAGE_CACHE_MIB * 2 ** 20 }),
    startWork: () => node.start(),
    async stop() {
      await node.close();
      await hasher.close();
    },
  };
}

function openDisk(
  folder: string,
  { config, network, database, log, committed }: AppContext,
  { url, progressed }: Options,
  hashing: Hashing,
): DiskNode {
  const { chainId } = network;
  const listener = progressed && { progressed, committed };
  return new DiskNode(
    { database, chainId, log, hashing, ...(listener && { listener }) },
    {
      folder,
      quotaBytes: config.STORAGE_QUOTA_GIB * 2 ** 30,
      unsubmittedHours: config.STORAGE_UNSUBMITTED_HOURS,
      verifies: config.STORAGE_VERIFY === "on",
      url,
    },
  );
}

function openNetwork(
  { config, network, database, log, clock }: AppContext,
  { progressed }: Options,
  hashing: Hashing,
): RemoteNode {
  const nodes = config.STORAGE_NODES ?? [];
  const fallback = nodes.length > 0 || network.indexerUrl === null ? [] : [network.indexerUrl];
  const indexers = config.STORAGE_INDEXERS ?? fallback;
  if (indexers.length + nodes.length === 0)
    throw new StartupError(
      "STORAGE_INDEXERS: required with STORAGE=network on a network without a default indexer",
    );
  const rpc = new NodeRpc({ allowsPrivate: network.id === "devnet", connectMs: CONNECT_MS });
  return new RemoteNode({
    queries: database,
    chainId: network.chainId,
    rpc,
    nodes: new KnownNodes({ rpc, indexers, nodes, clock, log }),
    ...hashing,
    ...(progressed && { stored: (file) => database.transaction((tx) => progressed(tx, [file])) }),
  });
}
