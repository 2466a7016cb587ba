import type { Context } from "../shared/context.ts";
import { EventCursorResolver } from "../shared/events/event-cursor.resolver.ts";
import { nodeReference } from "../shared/nodes/find-node.ts";
import { buildSubgraph, type Subgraph } from "../shared/schema/build-subgraph.ts";
import { AccountResolver, findAccount } from "./account/account.resolver.ts";
import { AccountNodeResolvers } from "./account/account.type.ts";
import { ViewerResolver } from "./account/viewer.resolver.ts";
import { ApiKeyResolver } from "./api-keys/api-key.resolver.ts";
import { ApiKeyNodeResolvers } from "./api-keys/api-key.type.ts";
import { KeyChangedSubscription } from "./api-keys/key-changed.subscription.ts";
import { BalanceChangedSubscription } from "./balance/balance-changed.subscription.ts";
import { DepositNodeResolvers, DepositType } from "./balance/deposit.type.ts";
import { DepositChangedSubscription } from "./balance/deposit-changed.subscription.ts";
import { ManagementKeyResolver } from "./management-keys/management-key.resolver.ts";
import { ManagementKeyNodeResolvers, ManagementKeyType } from "./management-keys/management-key.type.ts";
import { NodeResolver } from "./nodes/node.resolver.ts";
import { NODE_STUBS } from "./nodes/node.stubs.ts";
import { SessionResolver } from "./sessions/session.resolver.ts";
import { AccountTagBudgetsResolver, TagBudgetResolver } from "./tag-budgets/tag-budget.resolver.ts";
import { TagBudgetNodeResolvers, TagBudgetType } from "./tag-budgets/tag-budget.type.ts";
import { AccountUsageResolver, UsageResolver } from "./usage/usage.resolver.ts";
import { AccountWebhooksResolver, WebhookResolver } from "./webhooks/webhook.resolver.ts";
import { WebhookNodeResolvers, WebhookType } from "./webhooks/webhook.type.ts";
import { WebhookMutationsResolver } from "./webhooks/webhook-mutations.resolver.ts";

/** The accounts subgraph: the caller, balances and keys. */
export function build(): Subgraph {
  return buildSubgraph<Context>(
    "accounts",
    [
      ViewerResolver,
      SessionResolver,
      AccountResolver,
      ApiKeyResolver,
      ManagementKeyResolver,
      AccountUsageResolver,
      UsageResolver,
      AccountTagBudgetsResolver,
      TagBudgetResolver,
      AccountWebhooksResolver,
      WebhookResolver,
      WebhookMutationsResolver,
      BalanceChangedSubscription,
      DepositChangedSubscription,
      KeyChangedSubscription,
      EventCursorResolver,
      NodeResolver,
      ...AccountNodeResolvers,
      ...ApiKeyNodeResolvers,
      ...ManagementKeyNodeResolvers,
      ...DepositNodeResolvers,
      ...WebhookNodeResolvers,
      ...TagBudgetNodeResolvers,
    ],
    {
      references: { Account: findAccount, ApiKey: nodeReference("ApiKey") },
      orphanedTypes: [...NODE_STUBS, ManagementKeyType, DepositType, WebhookType, TagBudgetType],
    },
  );
}
