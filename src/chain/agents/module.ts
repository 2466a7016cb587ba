import type { AppContext } from "../../app-context.ts";
import { lowerHex } from "../../kernel/text/hex.ts";
import type { TransactionBuilder } from "../transactions/transaction-builder.ts";
import type { LogHandler } from "../watcher/log-handler.ts";
import { AgentContractsService } from "./contracts/agent-contracts.service.ts";
import { type AgentContract, agentWatcherName } from "./contracts/agent-contracts.ts";
import { AgentTransactionsService } from "./contracts/agent-transactions.service.ts";
import { AgentLogService } from "./log/agent-log.service.ts";
import { SealedKeysService } from "./sealed-keys/sealed-keys.service.ts";
import { AgentTokensService } from "./tokens/agent-tokens.service.ts";

/** The services of agent tokens. */
export type AgentServices = {
  readonly agentTokens: AgentTokensService;
  /** Keys sealed for receivers of agent tokens. */
  readonly sealedKeys: SealedKeysService;
  readonly agentTransactions: AgentTransactionsService;
  /** The current settings of their contracts, and mints. */
  readonly agentContracts: AgentContractsService;
};

/** Creates the services of agent tokens, and follows each contract with its own cursor. */
export function openAgents(
  { config, network, database, events, rpc, clock }: AppContext,
  {
    transactions,
    follow,
  }: {
    readonly transactions: TransactionBuilder;
    readonly follow: (name: string, handler: LogHandler, startBlock?: bigint) => void;
  },
): AgentServices {
  const { chainId } = network;
  const { client } = rpc;
  const { address } = network.contracts.agentNft;
  const own: readonly AgentContract[] = address
    ? [{ address: lowerHex(address), generation: "agent-nft", startBlock: undefined }]
    : [];
  const contracts = config.AGENT_CONTRACTS ?? own;
  for (const contract of contracts)
    follow(agentWatcherName(contract), new AgentLogService({ chainId, contract }), contract.startBlock);
  return {
    agentTokens: new AgentTokensService({ queries: database, client, chainId, contracts, clock }),
    sealedKeys: new SealedKeysService({ queries: database, events, chainId, contracts }),
    agentTransactions: new AgentTransactionsService({ client, transactions, contracts }),
    agentContracts: new AgentContractsService({ client, transactions, contracts }),
  };
}
