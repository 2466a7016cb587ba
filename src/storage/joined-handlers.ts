import { newestMark } from "../chain/watcher/common-block.ts";
import type { LogHandler } from "../chain/watcher/log-handler.ts";

/** Combines several handlers under one cursor: each receives applied and reverted logs, in list order. */
export function joinHandlers(handlers: readonly LogHandler[]): LogHandler {
  return {
    addresses: [...new Set(handlers.flatMap(({ addresses }) => addresses))],
    topics: [...new Set(handlers.flatMap(({ topics }) => topics))],
    needsSenders: handlers.some(({ needsSenders }) => needsSenders),
    async apply(tx, logs) {
      for (const handler of handlers) {
        const own = logs.filter(
          ({ address, topics: [topic] }) =>
            handler.addresses.includes(address) && topic !== undefined && handler.topics.includes(topic),
        );
        if (own.length > 0) await handler.apply(tx, own);
      }
    },
    async revert(tx, from, reason) {
      for (const handler of handlers) await handler.revert(tx, from, reason);
    },
    async newestBlock(queries, upTo) {
      return newestMark(await Promise.all(handlers.map((handler) => handler.newestBlock(queries, upTo))));
    },
    async confirm(tx, upTo) {
      for (const handler of handlers) await handler.confirm?.(tx, upTo);
    },
  };
}
