import { PushIterator } from "../../kernel/async/push-iterator.ts";
import { forEachInTurns } from "../../kernel/async/shared-turns.ts";
import { AppError } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/log.ts";
import type { Hex } from "../../kernel/text/hex.ts";
import type { Rpc } from "../rpc/rpc.client.ts";
import { rpcReason } from "../rpc/rpc-errors.ts";
import type { ChainBlock } from "./log-handler.ts";
import { PollTimer } from "./poll-timer.ts";

type Dependencies = { readonly rpc: Rpc; readonly log: Logger; readonly pollMs: number };

const MAX_READERS = 10_000;
/** At most this many blocks are published at once: after an outage the newest blocks matter. */
const MAX_BATCH = 64;

/**
 * Publishes new blocks, and polls the chain only while there is a subscriber: one poll loop per process. After a reorg
 * the replacing blocks are published too; each names its parent.
 */
export class BlockFeedService {
  readonly #dependencies: Dependencies;
  readonly #readers = new Set<PushIterator<ChainBlock>>();
  /** The newest published blocks, the highest last. */
  #published: readonly ChainBlock[] = [];
  #timer: PollTimer | undefined;
  #polling: Promise<void> | undefined;
  #closed = false;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** Yields the newest block, then each new one. Throws `unavailable` when too many readers are open. */
  follow(): AsyncIterableIterator<ChainBlock> {
    if (this.#closed || this.#readers.size >= MAX_READERS)
      throw new AppError("unavailable", "Too many block streams are open. Try again later.");
    const reader: PushIterator<ChainBlock> = new PushIterator<ChainBlock>(() => this.#leave(reader));
    this.#readers.add(reader);
    const newest = this.#timer && this.#published.at(-1);
    if (newest) reader.push(newest);
    this.#timer ??= this.#start();
    return reader;
  }

  /** Ends every reader. */
  async stop(): Promise<void> {
    this.#closed = true;
    for (const reader of [...this.#readers]) reader.end();
    this.#timer?.stop();
    await this.#polling;
  }

  #start(): PollTimer {
    const timer = new PollTimer();
    this.#published = [];
    this.#polling = this.#poll(timer);
    return timer;
  }

  #leave(reader: PushIterator<ChainBlock>): void {
    this.#readers.delete(reader);
    if (this.#readers.size > 0) return;
    this.#timer?.stop();
    this.#timer = undefined;
  }

  async #poll(timer: PollTimer): Promise<void> {
    const { log, pollMs } = this.#dependencies;
    while (!timer.stopped) {
      try {
        const blocks = await timer.orStop(this.#newBlocks());
        await this.#publish(blocks);
      } catch (error) {
        if (!timer.stopped) log.debug({ reason: rpcReason(error) }, "new blocks could not be read");
      }
      await timer.wait(pollMs);
    }
  }

  /** A reader that arrives while the blocks are delivered has begun with the newest of them. */
  async #publish(blocks: readonly ChainBlock[]): Promise<void> {
    const readers = [...this.#readers];
    this.#published = [
      ...this.#published.filter(({ number }) => number < (blocks[0]?.number ?? number + 1n)),
      ...blocks,
    ].slice(-MAX_BATCH);
    for (const block of blocks) await forEachInTurns(readers, (reader) => reader.push(block));
  }

  /** From the head back to a published block, at most 64 blocks. */
  async #newBlocks(): Promise<readonly ChainBlock[]> {
    const { rpc } = this.#dependencies;
    const known = new Set<Hex>(this.#published.map(({ hash }) => hash));
    const blocks: ChainBlock[] = [];
    let block: ChainBlock | undefined = await rpc.head();
    while (block && !known.has(block.hash)) {
      blocks.unshift(block);
      if (known.size === 0 || block.number === 0n || blocks.length === MAX_BATCH) break;
      const { number, parentHash }: ChainBlock = block;
      if (known.has(parentHash)) break;
      block = await rpc.block(number - 1n);
      // The chain moved during the read: the next poll reads all of it.
      if (block && block.hash !== parentHash) return [];
    }
    return blocks;
  }
}
