import { AppError } from "../../kernel/errors.ts";
import type { Hex } from "../../kernel/text/hex.ts";
import { isRangeRefused, type LogFilter, type Rpc } from "../rpc/rpc.client.ts";
import type { ChainBlock, ChainLog } from "./log-handler.ts";
import type { Mark } from "./log-watcher.store.ts";

/** The logs of a stretch of blocks, and the blocks to remember of it: the last one always. */
export type LogPage = {
  readonly logs: readonly ChainLog[];
  readonly marks: readonly Mark[];
  readonly end: Mark;
};

type Wanted = Omit<LogFilter, "where">;
type Stretch = { readonly after: Mark | undefined; readonly from: bigint; readonly to: bigint };

const AT_ONCE = 16;

/**
 * The next page from block `from` on, at most `pageBlocks` long: read block by block within `near` blocks of the head,
 * and in one go below. Undefined when the chain moved meanwhile: look again.
 */
export function readPage(
  rpc: Rpc,
  wanted: Wanted,
  {
    after,
    from,
    head,
    near,
    pageBlocks,
  }: Omit<Stretch, "to"> & { readonly head: bigint; readonly near: bigint; readonly pageBlocks: number },
): Promise<LogPage | undefined> {
  const firstNear = head - near + 1n;
  const pageEnd = from + BigInt(pageBlocks) - 1n;
  return from < firstNear
    ? readFarPage(rpc, wanted, { after, from, to: pageEnd < firstNear ? pageEnd : firstNear - 1n })
    : readNearPage(rpc, wanted, { after, from, to: pageEnd < head ? pageEnd : head });
}

/**
 * Reads blocks that lie too deep to be reorganised in one go. The last block is looked at before and after, and the
 * first must follow the block before it.
 */
async function readFarPage(
  rpc: Rpc,
  wanted: Wanted,
  { after, from, to }: Stretch,
): Promise<LogPage | undefined> {
  const [first, last] = await Promise.all([rpc.block(from), rpc.block(to)]);
  if (!first || !last || !follows(first, after)) return undefined;
  const logs = await readRange(rpc, wanted, from, to);
  const again = await rpc.block(to);
  if (again?.hash !== last.hash) return undefined;
  if (!logs.every(({ blockNumber }) => blockNumber >= from && blockNumber <= to)) return undefined;
  return { logs, marks: [last], end: last };
}

/**
 * Reads blocks near the head one by one: each must follow the one before it, and its logs are asked for by its hash,
 * because an endpoint that lags behind answers a range it does not know with no logs at all, but refuses an unknown
 * hash.
 */
async function readNearPage(
  rpc: Rpc,
  wanted: Wanted,
  { after, from, to }: Stretch,
): Promise<LogPage | undefined> {
  const blocks: ChainBlock[] = [];
  const logs: ChainLog[] = [];
  for (let start = from; start <= to; start += BigInt(AT_ONCE)) {
    const numbers = range(start, to, AT_ONCE);
    const batch = await Promise.all(numbers.map((number) => rpc.block(number)));
    for (const block of batch) {
      if (!block || !follows(block, blocks.at(-1) ?? after)) return undefined;
      blocks.push(block);
    }
    const found = await Promise.all(batch.map((block) => (block ? logsOrMoved(rpc, wanted, block) : [])));
    if (found.includes("moved")) return undefined;
    logs.push(...found.flatMap((some) => (some === "moved" ? [] : some)));
  }
  const end = blocks.at(-1);
  return end && { logs, marks: blocks, end };
}

/** A block that was replaced since it was read is unknown, which is no failure of the endpoint. */
async function logsOrMoved(
  rpc: Rpc,
  wanted: Wanted,
  { number, hash }: ChainBlock,
): Promise<readonly ChainLog[] | "moved"> {
  try {
    return await readBlockLogs(rpc, wanted, hash);
  } catch (error) {
    const now = await rpc.block(number);
    if (now?.hash === hash) throw error;
    return "moved";
  }
}

/** Throws `chain_error` when the endpoint answers with logs of another block. */
async function readBlockLogs(rpc: Rpc, wanted: Wanted, blockHash: Hex): Promise<readonly ChainLog[]> {
  const logs = await rpc.logs({ ...wanted, where: { blockHash } });
  if (logs.every((log) => log.blockHash === blockHash)) return logs;
  throw new AppError("chain_error", "The chain's RPC answered with logs of another block.");
}

/** Halves a range for as long as the endpoint refuses it. */
async function readRange(rpc: Rpc, wanted: Wanted, from: bigint, to: bigint): Promise<readonly ChainLog[]> {
  try {
    return await rpc.logs({ ...wanted, where: { from, to } });
  } catch (error) {
    if (from === to || !isRangeRefused(error)) throw error;
    const middle = (from + to) / 2n;
    return [
      ...(await readRange(rpc, wanted, from, middle)),
      ...(await readRange(rpc, wanted, middle + 1n, to)),
    ];
  }
}

function follows(block: ChainBlock, before: Mark | undefined): boolean {
  return !before || (block.number === before.number + 1n && block.parentHash === before.hash);
}

function range(from: bigint, to: bigint, atMost: number): bigint[] {
  const length = Math.min(atMost, Number(to - from) + 1);
  return Array.from({ length }, (_, index) => from + BigInt(index));
}
