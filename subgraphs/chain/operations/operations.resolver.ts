import "../../shared/schema/reflect.ts";
import { Ctx, FieldResolver, Query, Resolver } from "type-graphql";
import { permit } from "../../../src/keys/auth/permissions.ts";
import { Requires } from "../../shared/access.ts";
import type { Context } from "../../shared/context.ts";
import { toWatcherStates, WatcherStateType } from "../network/watcher-state.type.ts";
import {
  LedgerCheckType,
  OperationQueuesType,
  OperationsType,
  OperationWebhooksType,
  toLedgerCheck,
  toQueues,
  toWebhooks,
} from "./operations.type.ts";
import { ServiceProcessType, toServiceProcess } from "./service-process.type.ts";

/** What operators see of the service. The root field alone checks that the caller is one. */
@Resolver(() => OperationsType)
export class OperationsResolver {
  @Requires("operations.read")
  @Query(() => OperationsType, {
    nullable: true,
    description:
      "The state of this service. Requires the scope `account:read` of an operator's account (`OPERATORS`). Null, with an error, for other callers.",
  })
  operations(@Ctx() { principal, services }: Context): OperationsType {
    services.operators.require(permit(principal, "operations.read").account);
    return {};
  }

  @FieldResolver(() => [ServiceProcessType], {
    description: "The processes that reported in the last hour, oldest first. At most 500.",
  })
  async processes(@Ctx() { services }: Context): Promise<readonly ServiceProcessType[]> {
    return (await services.processes.list()).map(toServiceProcess);
  }

  @FieldResolver(() => OperationQueuesType, {
    description: "The work that waits for a process, at most 1 s old.",
  })
  async queues(@Ctx() { services }: Context): Promise<OperationQueuesType> {
    return toQueues(await services.operations.queues());
  }

  @FieldResolver(() => [WatcherStateType], { description: "How far the chain is scanned." })
  async watchers(@Ctx() { services }: Context): Promise<readonly WatcherStateType[]> {
    return toWatcherStates(await services.chain.watchers());
  }

  @FieldResolver(() => OperationWebhooksType, { description: "The state of webhooks, at most 1 s old." })
  async webhooks(@Ctx() { services }: Context): Promise<OperationWebhooksType> {
    return toWebhooks(await services.operations.deliveries());
  }

  @FieldResolver(() => LedgerCheckType, {
    nullable: true,
    description: "The result of the last check of the ledger. Null before the first.",
  })
  async ledgerCheck(@Ctx() { services }: Context): Promise<LedgerCheckType | null> {
    const check = await services.operations.ledgerCheck();
    return check ? toLedgerCheck(check) : null;
  }

  @FieldResolver(() => String, {
    nullable: true,
    description: "The URL of the operator's Grafana (`GRAFANA_URL`). Null if it is not set.",
  })
  grafanaUrl(@Ctx() { services }: Context): string | null {
    return services.config.GRAFANA_URL ?? null;
  }
}
