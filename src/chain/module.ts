import type { AppContext, Lifecycle } from "../app-context.ts";
import { type AgentServices, openAgents } from "./agents/module.ts";
import { ChainService } from "./chain.service.ts";
import { DirectLedgerService } from "./direct/direct-ledger.service.ts";
import { DirectSecretsService } from "./direct/direct-secrets.service.ts";
import { DirectTransactions } from "./direct/direct-transactions.service.ts";
import { FineTuningService } from "./direct/fine-tuning.service.ts";
import { ServiceNames } from "./direct/service-names.ts";
import { type MarketServices, openMarket } from "./market/module.ts";
import { NodeService } from "./node/node.service.ts";
import { nodeSettings } from "./node/node-settings.ts";
import { DaSignersClient } from "./precompiles/da-signers.client.ts";
import { WrappedBaseClient } from "./precompiles/wrapped-base.client.ts";
import { maxHeadAgeOf } from "./rpc/rpc.client.ts";
import { TransactionBuilder } from "./transactions/transaction-builder.ts";
import { BlockFeedService } from "./watcher/block-feed.service.ts";
import { HeadFeed } from "./watcher/head-feed.ts";
import type { LogHandler } from "./watcher/log-handler.ts";
import { LogWatcher } from "./watcher/log-watcher.ts";

/** The chain services that the APIs use; the app exposes each by its name. */
export type ChainServices = AgentServices &
  MarketServices & {
    readonly chain: ChainService;
    readonly blocks: BlockFeedService;
    readonly daSigners: DaSignersClient;
    readonly wrappedBase: WrappedBaseClient;
    /** Funds of the direct path, separate from the router's ledger. */
    readonly directLedger: DirectLedgerService;
    readonly directTransactions: DirectTransactions;
    readonly directSecrets: DirectSecretsService;
    readonly fineTuning: FineTuningService;
    /** The operator's own node. */
    readonly node: NodeService;
  };

/** The chain services, and the watchers that follow the chain. */
export type ChainModule = Lifecycle & {
  readonly services: ChainServices;
  /** The number of blocks that must follow a block before its content is final. */
  readonly confirmations: number;
  /**
   * Registers `handler` to follow the chain, in worker processes, with a cursor under `name`. Handlers that must be
   * able to halt independently need different names. Reading starts at `startBlock`, by default the network's first
   * block.
   */
  follow(name: string, handler: LogHandler, startBlock?: bigint): void;
};

const CONFIRMATIONS = 12;
const POLL_MS = 2_000;
const DEVNET_POLL_MS = 250;

/** The number of blocks that must follow a block before its content is final. */
export function confirmationsOf({ config, network }: Pick<AppContext, "config" | "network">): number {
  return config.CONFIRMATIONS ?? (network.id === "devnet" ? 0 : CONFIRMATIONS);
}

/** Creates the chain services. */
export function createChainModule(parts: AppContext): ChainModule {
  const { config, network, log, clock, rpc, database, committed } = parts;
  const isDevnet = network.id === "devnet";
  const confirmations = confirmationsOf(parts);
  const { client } = rpc;
  const transactions = new TransactionBuilder({ client, chainId: network.chainId });
  const directLedger = new DirectLedgerService({ client, network, clock });
  const watchers: LogWatcher[] = [];
  const pollMs = isDevnet ? DEVNET_POLL_MS : POLL_MS;
  const heads = new HeadFeed(rpc, pollMs);
  const follow: ChainModule["follow"] = (name, handler, startBlock) => {
    watchers.push(
      new LogWatcher({
        name,
        rpc,
        database,
        startBlock: startBlock ?? config.START_BLOCK ?? network.storageStartBlock,
        confirmations,
        reorgBlocks: config.REORG_BLOCKS,
        waitFinalized: (config.WAIT_FINALIZED ?? (isDevnet ? "off" : "on")) === "on",
        handlers: [handler],
        log,
        committed,
        pollMs,
        heads,
        clock,
        maxHeadAgeMs: maxHeadAgeOf(network.id),
        resetOnNewGenesis: isDevnet,
      }),
    );
  };
  const blocks = new BlockFeedService({ rpc, log, pollMs });
  return {
    services: {
      ...openAgents(parts, { transactions, follow }),
      ...openMarket(parts, { transactions, follow }),
      chain: new ChainService({ rpc, network, queries: database, clock }),
      blocks,
      daSigners: new DaSignersClient(client, network),
      wrappedBase: new WrappedBaseClient(client, network),
      directLedger,
      directTransactions: new DirectTransactions({
        transactions,
        network,
        names: new ServiceNames({ client, network, clock }),
      }),
      directSecrets: new DirectSecretsService({ ledger: directLedger, clock }),
      fineTuning: new FineTuningService({ client, network, clock }),
      node: new NodeService({
        settings: nodeSettings(config, network.rpcUrls),
        chainId: network.chainId,
        clock,
      }),
    },
    confirmations,
    follow,
    startWork() {
      for (const watcher of watchers) watcher.start();
    },
    async stop() {
      await Promise.all([blocks.stop(), ...watchers.map((watcher) => watcher.stop())]);
    },
  };
}
