import type { Hex } from "../kernel/hex.ts";
import type { Life, Parts } from "../parts.ts";
import { ChainService } from "./chain.service.ts";
import type { LogHandler } from "./log-handler.ts";
import { LogWatcher } from "./log-watcher.ts";
import type { ContractName, Network } from "./networks.ts";

/** The services of the chain. */
export type ChainRoom = Life & {
  readonly chain: ChainService;
  /** Blocks that must follow a block before what is in it is final. */
  readonly confirmations: number;
  /** Has `handler` follow the chain, in workers, under a cursor of its own: what may halt apart has its own name. */
  follow(name: string, handler: LogHandler): void;
};

const CONFIRMATIONS = 12;
const DEVNET_POLL_MS = 250;

/** Builds the services of the chain. */
export function openChainRoom(parts: Parts): ChainRoom {
  const { config, network, log, clock, rpc, database, committed } = parts;
  const isDevnet = network.id === "devnet";
  const confirmations = config.CONFIRMATIONS ?? (isDevnet ? 0 : CONFIRMATIONS);
  const watchers: LogWatcher[] = [];
  return {
    chain: new ChainService({ rpc, network, queries: database, clock }),
    confirmations,
    follow(name, handler) {
      const watcher = new LogWatcher({
        name,
        rpc,
        database,
        startBlock: config.START_BLOCK ?? network.storageStartBlock,
        confirmations,
        waitFinalized: (config.WAIT_FINALIZED ?? (isDevnet ? "off" : "on")) === "on",
        handlers: [handler],
        log,
        committed,
        ...(isDevnet && { pollMs: DEVNET_POLL_MS, resetOnNewGenesis: true }),
      });
      watchers.push(watcher);
    },
    work() {
      for (const watcher of watchers) watcher.start();
    },
    async stop() {
      await Promise.all(watchers.map((watcher) => watcher.stop()));
    },
  };
}

/** Where a contract is that cannot be done without. Throws on a network that has none. */
export function addressOf(network: Network, name: ContractName): Hex {
  const { address } = network.contracts[name];
  if (!address) throw new Error(`${network.name} has no contract ${name}`);
  return address;
}
