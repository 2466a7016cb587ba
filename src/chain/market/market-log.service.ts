import type { Queries } from "../../db/database.ts";
import { appendEvents } from "../../events/outbox.ts";
import { mapInTurns } from "../../kernel/async/map-in-turns.ts";
import type { Hex } from "../../kernel/text/hex.ts";
import { tokenSubject } from "../agents/log/agent-log.service.ts";
import type { ChainLog, LogHandler } from "../watcher/log-handler.ts";
import type { Mark } from "../watcher/log-watcher.store.ts";
import {
  type MarketKey,
  newestEventBlock,
  revertEvents,
  type StoredFill,
  writeEvents,
} from "./market.store.ts";
import { MARKET_TOPICS, readMarketLog } from "./market-event.ts";

/**
 * Stores the market's events from its logs. Publishes fulfilled orders, and publishes them again as `removed`, newest
 * first, when a reorg reverts them.
 */
export class MarketLogService implements LogHandler {
  readonly addresses: readonly Hex[];
  readonly topics = MARKET_TOPICS;
  readonly #key: MarketKey;

  constructor(key: MarketKey) {
    this.#key = key;
    this.addresses = [key.contract.address];
  }

  async apply(tx: Queries, logs: readonly ChainLog[]): Promise<void> {
    const events = await mapInTurns(logs, (log) => ({ ...readMarketLog(log), log }));
    await this.#publish(tx, await writeEvents(tx, this.#key, events), false);
  }

  async revert(tx: Queries, from: bigint): Promise<void> {
    await this.#publish(tx, await revertEvents(tx, this.#key, from), true);
  }

  newestBlock(queries: Queries, upTo: bigint): Promise<Mark | undefined> {
    return newestEventBlock(queries, this.#key, upTo);
  }

  async #publish(tx: Queries, fills: readonly StoredFill[], removed: boolean): Promise<void> {
    await appendEvents(
      tx,
      fills.map((fill) => ({
        topic: "order.fulfilled",
        subject: tokenSubject(fill.token, fill.tokenId),
        data: {
          market: this.#key.contract.address,
          contract: fill.token,
          tokenId: fill.tokenId.toString(),
          seller: fill.seller,
          buyer: fill.buyer,
          price: fill.price.toString(),
          currency: fill.currency,
          blockNumber: fill.blockNumber.toString(),
          logIndex: fill.logIndex,
          transactionHash: fill.transactionHash,
          removed,
        },
      })),
    );
  }
}
