import "../../shared/schema/reflect.ts";
import { Arg, Ctx, Resolver, Root, Subscription } from "type-graphql";
import type { EventStream } from "../../../src/events/bus.ts";
import type { DomainEvent } from "../../../src/events/topics.ts";
import { permit } from "../../../src/keys/auth/permissions.ts";
import { Requires } from "../../shared/access.ts";
import type { Context } from "../../shared/context.ts";
import { AFTER_DESCRIPTION, FollowsLive, type Subscribing } from "../../shared/events/event.type.ts";
import { CursorScalar } from "../../shared/schema/scalars.ts";
import { BalanceEventType, toBalanceEvent } from "./balance-event.type.ts";

/** Emits every change of an account's balance. */
@Resolver()
export class BalanceChangedSubscription {
  @FollowsLive()
  @Requires("balance.read")
  @Subscription(() => BalanceEventType, {
    description: "Emits every change of the caller's balance. Requires the scope `account:read`.",
    subscribe: followBalance,
  })
  balanceChanged(
    @Root() event: DomainEvent<"balance.changed">,
    @Ctx() { services }: Context,
    @Arg("after", () => CursorScalar, {
      nullable: true,
      description: AFTER_DESCRIPTION,
    })
    _after: string | null,
  ): BalanceEventType {
    return toBalanceEvent(event, services.events);
  }
}

function followBalance({ args, context }: Subscribing): Promise<EventStream<"balance.changed">> {
  const subject = permit(context.principal, "balance.read").account;
  return context.services.events.follow({ topic: "balance.changed", subject }, args.after ?? undefined);
}
