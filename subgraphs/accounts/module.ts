import type { Context } from "../shared/context.ts";
import { EventCursorResolver } from "../shared/events/event-cursor.resolver.ts";
import { buildSubgraph, type Subgraph } from "../shared/schema/build-subgraph.ts";
import { AccountResolver, findAccount, findApiKey } from "./account/account.resolver.ts";
import { ViewerResolver } from "./account/viewer.resolver.ts";
import { ApiKeyResolver } from "./api-keys/api-key.resolver.ts";
import { KeyChangedSubscription } from "./api-keys/key-changed.subscription.ts";
import { BalanceChangedSubscription } from "./balance/balance-changed.subscription.ts";
import { DepositChangedSubscription } from "./balance/deposit-changed.subscription.ts";
import { ManagementKeyResolver } from "./management-keys/management-key.resolver.ts";
import { SessionResolver } from "./sessions/session.resolver.ts";
import { AccountUsageResolver, UsageResolver } from "./usage/usage.resolver.ts";

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
      BalanceChangedSubscription,
      DepositChangedSubscription,
      KeyChangedSubscription,
      EventCursorResolver,
    ],
    {
      references: { Account: findAccount, ApiKey: findApiKey },
    },
  );
}
