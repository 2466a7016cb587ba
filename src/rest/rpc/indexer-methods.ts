import { RpcError, SERVER_ERROR } from "./rpc-error.ts";
import type { RpcMethods } from "./rpc-method.ts";

const NOT_ENOUGH = "cannot select a subset from the returned nodes that meets the replication requirement";
/** The maximum number of nodes that a client excludes, and the maximum length of a node's URL. */
const MAX_DROPPED = { items: 1_000, length: 2_048 } as const;

/**
 * The indexer's methods (facts: storage section 2.1). The only node that they return is this product itself, with every
 * shard: it implements the node's methods too, verifies data in both directions, and reads from other nodes as needed.
 */
export const INDEXER_METHODS: RpcMethods = {
  indexer_getShardedNodes: async ({ origin }) => ({ trusted: [nodeAt(origin)], discovered: [] }),

  indexer_getSelectedNodes: async ({ params, origin }) => {
    const replicas = params.u64(0, "expected_replica");
    const dropped = params.texts(3, "dropped", MAX_DROPPED);
    const isDropped = dropped.some((url) => sameUrl(url, origin));
    if (replicas > 1n || isDropped) throw new RpcError(SERVER_ERROR, NOT_ENOUGH);
    return { trusted: [nodeAt(origin)], discovered: [] };
  },

  indexer_getNodeLocations: async () => ({}),

  indexer_getFileLocations: async ({ app, params, origin }) => {
    const { finalized } = await app.files.get({ root: params.hash(0, "root") });
    return finalized ? [nodeAt(origin)] : null;
  },
};

function nodeAt(url: string) {
  return { url, config: { shardId: 0, numShard: 1 }, latency: 0, since: 0 };
}

function sameUrl(url: string, origin: string): boolean {
  return url === origin || url === `${origin}/`;
}
