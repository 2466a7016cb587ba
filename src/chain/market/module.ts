import type { AppContext } from "../../app-context.ts";
import { lowerHex } from "../../kernel/text/hex.ts";
import type { Network } from "../networks.ts";
import type { TransactionBuilder } from "../transactions/transaction-builder.ts";
import type { LogHandler } from "../watcher/log-handler.ts";
import { MarketClient } from "./market.client.ts";
import { MarketService } from "./market.service.ts";
import type { MarketContract } from "./market-contract.ts";
import { MarketLogService } from "./market-log.service.ts";
import { MarketOrdersService } from "./market-orders.service.ts";
import { MarketTransactionsService } from "./market-transactions.service.ts";

/** The services of the agent token market. */
export type MarketServices = {
  readonly market: MarketService;
  readonly marketOrders: MarketOrdersService;
  readonly marketTransactions: MarketTransactionsService;
};

/** Creates the services of the market, and follows its logs if a market is configured. */
export function openMarket(
  { config, network, database, events, rpc, clock }: AppContext,
  {
    transactions,
    follow,
  }: {
    readonly transactions: TransactionBuilder;
    readonly follow: (name: string, handler: LogHandler, startBlock?: bigint) => void;
  },
): MarketServices {
  const { chainId } = network;
  const contract = config.AGENT_MARKET ?? marketOf(network);
  // Each market has its own history, so its watcher has its own name and start block.
  if (contract)
    follow(`market:${contract.address}`, new MarketLogService({ chainId, contract }), contract.startBlock);
  const client = new MarketClient(rpc.client, contract);
  const market = new MarketService({ client, queries: database, events, chainId, clock });
  const orders = new MarketOrdersService({ client, market, chainId });
  return {
    market,
    marketOrders: orders,
    marketTransactions: new MarketTransactionsService({ transactions, client, market, orders }),
  };
}

function marketOf({ contracts }: Network): MarketContract | undefined {
  const { agentMarket, agentNft } = contracts;
  if (!agentMarket.address || !agentNft.address) return undefined;
  return {
    address: lowerHex(agentMarket.address),
    token: lowerHex(agentNft.address),
    startBlock: undefined,
  };
}
