import { AppError } from "../../kernel/errors.ts";
import type { Hex } from "../../kernel/text/hex.ts";
import type { LogFilter, Rpc } from "../rpc/rpc.client.ts";
import { isRangeRefused } from "../rpc/rpc-errors.ts";
import type { ChainBlock, ChainLog } from "./log-handler.ts";
import type { Mark } from "./log-watcher.store.ts";
import type { RangeLength } from "./range-length.ts";

/** The logs of a range of blocks, and the blocks of it to store: always the last one. */
export type LogPage = {
  readonly logs: readonly ChainLog[];
  readonly marks: readonly Mark[];
  readonly end: Mark;
};

type LogSelection = Omit<LogFilter, "where">;
type BlockRange = {
  readonly after: Mark | undefined;
  readonly from: bigint;
  readonly to: bigint;
  /** How long the ranges of this chain may be, as earlier pages have shown. */
  readonly ranges: RangeLength;
};

const MAX_CONCURRENT = 16;
/** A page ends early once its logs are this large: each answer of an endpoint is bounded, but a page needs several. */
const MAX_PAGE_BYTES = 16 * 1_048_576;
/** What a log without topics and data takes in memory, about. */
const LOG_BYTES = 500;

/**
 * Reads the next page, at most `pageBlocks` blocks from block `from` on: block by block within `near` blocks of the
 * head, with one range query below, and fewer blocks if their logs are large. Undefined when the chain moved meanwhile:
 * the caller reads again.
 */
export function readPage(
  rpc: Rpc,
  selection: LogSelection,
  {
    after,
    from,
    head,
    near,
    pageBlocks,
    ranges,
  }: Omit<BlockRange, "to"> & { readonly head: bigint; readonly near: bigint; readonly pageBlocks: number },
): Promise<LogPage | undefined> {
  const firstNear = head - near + 1n;
  const pageEnd = from + BigInt(pageBlocks) - 1n;
  return from < firstNear
    ? readFarPage(rpc, selection, {
        ...{ after, from, ranges },
        to: pageEnd < firstNear ? pageEnd : firstNear - 1n,
      })
    : readNearPage(rpc, selection, { after, from, to: pageEnd < head ? pageEnd : head });
}

/**
 * Reads blocks too deep to be reorged with one range query. The last block is compared before and after the query, and
 * the first block must follow `after`.
 */
async function readFarPage(
  rpc: Rpc,
  selection: LogSelection,
  { after, from, to, ranges }: BlockRange,
): Promise<LogPage | undefined> {
  const [first, last] = await Promise.all([rpc.block(from), rpc.block(to)]);
  if (!first || !last || !follows(first, after)) return undefined;
  const { logs, upTo } = await readRange(rpc, selection, { from, to, ranges });
  const end = upTo === to ? last : await rpc.block(upTo);
  const reread = await rpc.block(to);
  if (!end || reread?.hash !== last.hash) return undefined;
  if (!logs.every(({ blockNumber }) => blockNumber >= from && blockNumber <= upTo)) return undefined;
  return { logs: inOrder(logs), marks: [end], end };
}

/**
 * Reads blocks near the head one by one: each must follow its predecessor, and its logs are requested by block hash.
 * An endpoint that lags answers an unknown range with an empty list, but rejects an unknown hash.
 */
async function readNearPage(
  rpc: Rpc,
  selection: LogSelection,
  { after, from, to }: Omit<BlockRange, "ranges">,
): Promise<LogPage | undefined> {
  const blocks: ChainBlock[] = [];
  const logs: ChainLog[] = [];
  for (let start = from; start <= to; start += BigInt(MAX_CONCURRENT)) {
    const numbers = range(start, to, MAX_CONCURRENT);
    const batch = await Promise.all(numbers.map((number) => rpc.block(number)));
    for (const block of batch) {
      if (!block || !follows(block, blocks.at(-1) ?? after)) return undefined;
      blocks.push(block);
    }
    const found = await Promise.all(batch.map((block) => (block ? logsOrMoved(rpc, selection, block) : [])));
    if (found.includes("moved")) return undefined;
    logs.push(...found.flatMap((some) => (some === "moved" ? [] : inOrder(some))));
    if (isFull(logs)) break;
  }
  const end = blocks.at(-1);
  return end && { logs, marks: blocks, end };
}

/** A block replaced since it was read is unknown to the endpoint, which is not a failure of the endpoint. */
async function logsOrMoved(
  rpc: Rpc,
  selection: LogSelection,
  { number, hash }: ChainBlock,
): Promise<readonly ChainLog[] | "moved"> {
  try {
    return await readBlockLogs(rpc, selection, hash);
  } catch (error) {
    const now = await rpc.block(number);
    if (now?.hash === hash) throw error;
    return "moved";
  }
}

/** Throws `chain_error` when the endpoint returns logs of another block. */
async function readBlockLogs(
  rpc: Rpc,
  selection: LogSelection,
  blockHash: Hex,
): Promise<readonly ChainLog[]> {
  const logs = await rpc.logs({ ...selection, where: { blockHash } });
  if (logs.every((log) => log.blockHash === blockHash)) return logs;
  throw new AppError("chain_error", "The chain's RPC returned logs of another block.");
}

/** Reads as long ranges as the endpoint does not refuse. Ends before `to` once the logs are those of a page. */
async function readRange(
  rpc: Rpc,
  selection: LogSelection,
  { from: first, to, ranges }: Pick<BlockRange, "from" | "to" | "ranges">,
): Promise<{ readonly logs: readonly ChainLog[]; readonly upTo: bigint }> {
  const logs: ChainLog[] = [];
  let from = first;
  while (true) {
    const length = ranges.of(to - from + 1n);
    const upTo = from + length - 1n;
    try {
      logs.push(...(await rpc.logs({ ...selection, where: { from, to: upTo } })));
      ranges.answered(length);
      if (upTo === to || isFull(logs)) return { logs, upTo };
      from = upTo + 1n;
    } catch (error) {
      if (from === upTo || !isRangeRefused(error)) throw error;
      ranges.refused(length);
    }
  }
}

function isFull(logs: readonly ChainLog[]): boolean {
  let bytes = 0;
  for (const { data } of logs) {
    bytes += LOG_BYTES + data.length;
    if (bytes >= MAX_PAGE_BYTES) return true;
  }
  return false;
}

/** Endpoints return logs in the order of the chain, but nothing obliges them to. */
function inOrder(logs: readonly ChainLog[]): readonly ChainLog[] {
  return logs.toSorted((a, b) => Number(a.blockNumber - b.blockNumber) || a.logIndex - b.logIndex);
}

function follows(block: ChainBlock, before: Mark | undefined): boolean {
  return !before || (block.number === before.number + 1n && block.parentHash === before.hash);
}

function range(from: bigint, to: bigint, atMost: number): bigint[] {
  const length = Math.min(atMost, Number(to - from) + 1);
  return Array.from({ length }, (_, index) => from + BigInt(index));
}
