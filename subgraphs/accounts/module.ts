import { buildSubgraph, type Subgraph } from "../shared/build-subgraph.ts";
import type { Context } from "../shared/context.ts";
import { EventCursorResolver } from "../shared/event-cursor.resolver.ts";
import { AccountResolver, findAccount, findApiKey } from "./account.resolver.ts";
import { ApiKeyResolver } from "./api-key.resolver.ts";
import { BalanceChangedSubscription } from "./balance-changed.subscription.ts";
import { DepositSeenSubscription } from "./deposit-seen.subscription.ts";
import { KeyChangedSubscription } from "./key-changed.subscription.ts";
import { ManagementKeyResolver } from "./management-key.resolver.ts";
import { SessionResolver } from "./session.resolver.ts";
import { AccountUsageResolver, UsageResolver } from "./usage.resolver.ts";
import { ViewerResolver } from "./viewer.resolver.ts";

/** The subgraph of accounts: who is asking, money and keys. */
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
      BalanceChangedSubscription,
      DepositSeenSubscription,
      KeyChangedSubscription,
      EventCursorResolver,
    ],
    {
      references: { Account: findAccount, ApiKey: findApiKey },
    },
  );
}
