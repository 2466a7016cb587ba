import { PushIterator } from "../../kernel/async/push-iterator.ts";
import { AppError } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/log.ts";
import type { Hex } from "../../kernel/text/hex.ts";
import type { Rpc } from "../rpc/rpc.client.ts";
import { rpcReason } from "../rpc/rpc-endpoint.ts";
import type { ChainBlock } from "./log-handler.ts";
import { PollTimer } from "./poll-timer.ts";

type Dependencies = { readonly rpc: Rpc; readonly log: Logger; readonly pollMs: number };

const MAX_READERS = 10_000;
/** A reader is not told of more blocks than this at once: after an outage the newest are what matters. */
const KEPT = 64;

/**
 * Publishes new blocks, and polls the chain only while there is a subscriber: once for all of a process. After a reorganisation
 * the blocks that took the place of others are told too; each names the one before it.
 */
export class BlockFeedService {
  readonly #dependencies: Dependencies;
  readonly #readers = new Set<PushIterator<ChainBlock>>();
  /** The newest blocks that were told, the highest last. */
  #told: readonly ChainBlock[] = [];
  #pulse: PollTimer | undefined;
  #polling: Promise<void> | undefined;
  #closed = false;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** The newest block, then each one that comes. Throws `unavailable` beyond the most readers. */
  follow(): AsyncIterableIterator<ChainBlock> {
    if (this.#closed || this.#readers.size >= MAX_READERS)
      throw new AppError("unavailable", "Too many block streams are open. Try again later.");
    const reader: PushIterator<ChainBlock> = new PushIterator<ChainBlock>(() => this.#leave(reader));
    this.#readers.add(reader);
    const newest = this.#pulse && this.#told.at(-1);
    if (newest) reader.push(newest);
    this.#pulse ??= this.#start();
    return reader;
  }

  /** Ends every reader. */
  async stop(): Promise<void> {
    this.#closed = true;
    for (const reader of [...this.#readers]) reader.end();
    this.#pulse?.stop();
    await this.#polling;
  }

  #start(): PollTimer {
    const pulse = new PollTimer();
    this.#told = [];
    this.#polling = this.#poll(pulse);
    return pulse;
  }

  #leave(reader: PushIterator<ChainBlock>): void {
    this.#readers.delete(reader);
    if (this.#readers.size > 0) return;
    this.#pulse?.stop();
    this.#pulse = undefined;
  }

  async #poll(pulse: PollTimer): Promise<void> {
    const { log, pollMs } = this.#dependencies;
    while (!pulse.stopped) {
      try {
        const news = await pulse.orStop(this.#news());
        for (const block of news) for (const reader of [...this.#readers]) reader.push(block);
        this.#told = [
          ...this.#told.filter(({ number }) => number < (news[0]?.number ?? number + 1n)),
          ...news,
        ].slice(-KEPT);
      } catch (error) {
        if (!pulse.stopped) log.debug({ reason: rpcReason(error) }, "no news of blocks");
      }
      await pulse.wait(pollMs);
    }
  }

  /** From the head back to a block that was told, at most 64. */
  async #news(): Promise<readonly ChainBlock[]> {
    const { rpc } = this.#dependencies;
    const known = new Set<Hex>(this.#told.map(({ hash }) => hash));
    const news: ChainBlock[] = [];
    let block: ChainBlock | undefined = await rpc.head();
    while (block && !known.has(block.hash)) {
      news.unshift(block);
      if (known.size === 0 || block.number === 0n || news.length === KEPT) break;
      const { number, parentHash }: ChainBlock = block;
      if (known.has(parentHash)) break;
      block = await rpc.block(number - 1n);
      // The chain moved while it was read: the next look has it whole.
      if (block && block.hash !== parentHash) return [];
    }
    return news;
  }
}
