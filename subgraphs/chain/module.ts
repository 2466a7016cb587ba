import type { Context } from "../shared/context.ts";
import { EventCursorResolver } from "../shared/events/event-cursor.resolver.ts";
import { nodeOrKeyReference, nodeReference } from "../shared/nodes/find-node.ts";
import { buildSubgraph, type Subgraph } from "../shared/schema/build-subgraph.ts";
import { findAccount } from "./account.stub.ts";
import { AccessDelegationResolver, AgentAccountResolver } from "./agents/agent-account.resolver.ts";
import { AgentContractStateResolver } from "./agents/agent-contract.resolver.ts";
import {
  AgentContractResolver,
  AgentTokenResolver,
  findAgentToken,
  IntelligentDataResolver,
  TokenAuthorizationResolver,
  TokenCloneResolver,
  TokenTransferResolver,
} from "./agents/agent-token.resolver.ts";
import { AgentContractNodeResolvers, AgentTokenNodeResolvers } from "./agents/agent-token.type.ts";
import { AgentTransactionsResolver } from "./agents/agent-transactions.resolver.ts";
import { AgentTransferSubscription } from "./agents/agent-transfer.subscription.ts";
import { DataKeyResolver, SealedKeyResolver } from "./agents/sealed-key.resolver.ts";
import { SealedKeySubscription } from "./agents/sealed-key.subscription.ts";
import { SealedKeyNodeResolvers } from "./agents/sealed-key.type.ts";
import { TokenHistoryResolver } from "./agents/token-history.resolver.ts";
import { DirectAccountResolver, DirectLedgerResolver } from "./direct/direct-ledger.resolver.ts";
import { DirectSecretResolver } from "./direct/direct-secret.resolver.ts";
import { DirectTransactionsResolver } from "./direct/direct-transactions.resolver.ts";
import {
  DeliverableResolver,
  FineTuningAccountResolver,
  FineTuningPathResolver,
  FineTuningProviderResolver,
  FineTuningResolver,
} from "./direct/fine-tuning.resolver.ts";
import { InferenceServiceResolver } from "./direct/inference-service.resolver.ts";
import {
  MarketAccountResolver,
  MarketFillResolver,
  MarketPartnerResolver,
  MarketResolver,
} from "./market/market.resolver.ts";
import { OrderFulfilledSubscription } from "./market/market-order-fulfilled.subscription.ts";
import { MarketOrdersResolver } from "./market/market-orders.resolver.ts";
import { MarketTransactionsResolver } from "./market/market-transactions.resolver.ts";
import { BlockAddedSubscription } from "./network/block-added.subscription.ts";
import { NetworkResolver } from "./network/network.resolver.ts";
import { NetworkNodeResolvers } from "./network/network.type.ts";
import { NodeResolver } from "./node/node.resolver.ts";
import { OperationMutationsResolver } from "./operations/operation-mutations.resolver.ts";
import { OperationsResolver } from "./operations/operations.resolver.ts";
import { DaQuorumResolver, DaSignersResolver } from "./precompiles/precompile-da-signers.resolver.ts";
import { WrappedBaseResolver } from "./precompiles/precompile-wrapped-base.resolver.ts";
import { ProviderResolver } from "./provider.resolver.ts";
import { findProvider } from "./provider.stub.ts";

/** The chain subgraph: networks, blocks, contracts, precompiles, the direct path and providers' registry rows. */
export function build(): Subgraph {
  return buildSubgraph<Context>(
    "chain",
    [
      EventCursorResolver,
      NetworkResolver,
      BlockAddedSubscription,
      ProviderResolver,
      InferenceServiceResolver,
      AgentTokenResolver,
      AgentContractResolver,
      IntelligentDataResolver,
      TokenTransferResolver,
      TokenAuthorizationResolver,
      TokenCloneResolver,
      AgentAccountResolver,
      AccessDelegationResolver,
      AgentContractStateResolver,
      AgentTransactionsResolver,
      AgentTransferSubscription,
      TokenHistoryResolver,
      SealedKeyResolver,
      DataKeyResolver,
      SealedKeySubscription,
      MarketResolver,
      MarketPartnerResolver,
      MarketFillResolver,
      MarketAccountResolver,
      MarketOrdersResolver,
      MarketTransactionsResolver,
      OrderFulfilledSubscription,
      DaSignersResolver,
      DaQuorumResolver,
      WrappedBaseResolver,
      NodeResolver,
      OperationsResolver,
      OperationMutationsResolver,
      DirectAccountResolver,
      DirectLedgerResolver,
      DirectTransactionsResolver,
      DirectSecretResolver,
      FineTuningResolver,
      FineTuningProviderResolver,
      FineTuningPathResolver,
      FineTuningAccountResolver,
      DeliverableResolver,
      ...AgentTokenNodeResolvers,
      ...AgentContractNodeResolvers,
      ...SealedKeyNodeResolvers,
      ...NetworkNodeResolvers,
    ],
    {
      references: {
        Account: findAccount,
        AgentToken: nodeOrKeyReference("AgentToken", findAgentToken),
        Provider: findProvider,
        AgentContract: nodeReference("AgentContract"),
        SealedKey: nodeReference("SealedKey"),
        Network: nodeReference("Network"),
      },
    },
  );
}
