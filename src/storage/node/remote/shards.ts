import { SEGMENT_CHUNKS } from "../../merkle/shape.ts";

/** Which segments of the flow a node holds: those whose number is `shardId` modulo `numShard`, a power of two. */
export type Shard = { readonly shardId: number; readonly numShard: number };

/** The network has no more shards than this; a node that claims more is not believed. */
const MAX_SHARDS = 1_024;

/** Whether the shard that a node reports is valid. */
export function isShard({ shardId, numShard }: Shard): boolean {
  const isPower = Number.isInteger(numShard) && numShard >= 1 && (numShard & (numShard - 1)) === 0;
  return isPower && numShard <= MAX_SHARDS && Number.isInteger(shardId) && shardId >= 0 && shardId < numShard;
}

/** Whether a node holds a segment of a file that begins at this sector of the flow. */
export function holds({ shardId, numShard }: Shard, startEntryIndex: bigint, index: number): boolean {
  const inFlow = startEntryIndex / BigInt(SEGMENT_CHUNKS) + BigInt(index);
  return inFlow % BigInt(numShard) === BigInt(shardId);
}

/**
 * Selects nodes that together hold every segment `replicas` times: largest share first, skipping nodes that add nothing
 * (facts: storage section 2.1). Undefined when all nodes together do not suffice.
 */
export function selectNodes<Node extends Shard>(
  nodes: readonly Node[],
  replicas: number,
): readonly Node[] | undefined {
  const ordered = [...nodes].sort((a, b) => a.numShard - b.numShard || a.shardId - b.shardId);
  const width = Math.max(1, ...ordered.map(({ numShard }) => numShard));
  const missing = new Array<number>(width).fill(replicas);
  const selected: Node[] = [];
  for (const node of ordered) {
    let adds = false;
    for (let part = node.shardId; part < width; part += node.numShard) {
      if ((missing[part] ?? 0) === 0) continue;
      missing[part] = (missing[part] ?? 0) - 1;
      adds = true;
    }
    if (adds) selected.push(node);
    if (missing.every((count) => count === 0)) return selected;
  }
  return undefined;
}
