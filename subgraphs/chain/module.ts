import { buildSubgraph, type Subgraph } from "../shared/build-subgraph.ts";
import type { Context } from "../shared/context.ts";
import { EventCursorResolver } from "../shared/event-cursor.resolver.ts";
import { findAccount } from "./account.stub.ts";
import { AccessDelegationResolver, AgentAccountResolver } from "./agent-account.resolver.ts";
import { AgentContractStateResolver } from "./agent-contract.resolver.ts";
import {
  AgentContractResolver,
  AgentTokenResolver,
  findAgentToken,
  IntelligentDataResolver,
  TokenAuthorizationResolver,
  TokenCloneResolver,
  TokenTransferResolver,
} from "./agent-token.resolver.ts";
import { AgentTransactionsResolver } from "./agent-transactions.resolver.ts";
import { AgentTransferSubscription } from "./agent-transfer.subscription.ts";
import { DirectAccountResolver, DirectLedgerResolver } from "./direct-ledger.resolver.ts";
import { DirectSecretResolver } from "./direct-secret.resolver.ts";
import { DirectTransactionsResolver } from "./direct-transactions.resolver.ts";
import {
  DeliverableResolver,
  FineTuningAccountResolver,
  FineTuningPathResolver,
  FineTuningProviderResolver,
  FineTuningResolver,
} from "./fine-tuning.resolver.ts";
import { InferenceServiceResolver } from "./inference-service.resolver.ts";
import {
  MarketAccountResolver,
  MarketFillResolver,
  MarketPartnerResolver,
  MarketResolver,
} from "./market.resolver.ts";
import { OrderFulfilledSubscription } from "./market-order-fulfilled.subscription.ts";
import { MarketOrdersResolver } from "./market-orders.resolver.ts";
import { MarketTransactionsResolver } from "./market-transactions.resolver.ts";
import { NetworkResolver } from "./network.resolver.ts";
import { NewBlockSubscription } from "./new-block.subscription.ts";
import { NodeResolver } from "./node.resolver.ts";
import { DaQuorumResolver, DaSignersResolver } from "./precompile-da-signers.resolver.ts";
import { WrappedBaseResolver } from "./precompile-wrapped-base.resolver.ts";
import { ProviderResolver } from "./provider.resolver.ts";
import { findProvider } from "./provider.stub.ts";
import { DataKeyResolver, SealedKeyResolver } from "./sealed-key.resolver.ts";
import { SealedKeySubscription } from "./sealed-key.subscription.ts";

/** The subgraph of the chain: networks, blocks, contracts, precompiles, the direct path and providers' rows. */
export function build(): Subgraph {
  return buildSubgraph<Context>(
    "chain",
    [
      EventCursorResolver,
      NetworkResolver,
      NewBlockSubscription,
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
      DirectAccountResolver,
      DirectLedgerResolver,
      DirectTransactionsResolver,
      DirectSecretResolver,
      FineTuningResolver,
      FineTuningProviderResolver,
      FineTuningPathResolver,
      FineTuningAccountResolver,
      DeliverableResolver,
    ],
    { references: { Account: findAccount, AgentToken: findAgentToken, Provider: findProvider } },
  );
}
