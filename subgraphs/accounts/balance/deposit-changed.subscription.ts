import "../../shared/schema/reflect.ts";
import { Arg, Ctx, FieldResolver, Resolver, Root, Subscription } from "type-graphql";
import type { Deposit } from "../../../src/accounts/deposits.service.ts";
import type { EventStream } from "../../../src/events/bus.ts";
import type { DomainEvent } from "../../../src/events/topics.ts";
import { permit } from "../../../src/keys/auth/permissions.ts";
import { Requires } from "../../shared/access.ts";
import type { Context } from "../../shared/context.ts";
import { AFTER_DESCRIPTION, FollowsLive, type Subscribing } from "../../shared/events/event.type.ts";
import { CursorScalar } from "../../shared/schema/scalars.ts";
import { DepositType } from "./deposit.type.ts";
import { DepositEventType, toDepositEvent } from "./deposit-event.type.ts";

/** Emits every step of an account's deposits. */
@Resolver(() => DepositEventType)
export class DepositChangedSubscription {
  @FollowsLive()
  @Requires("deposit.read")
  @Subscription(() => DepositEventType, {
    description:
      "Emits every step of the caller's deposits: seen on chain, credited, reverted. Requires the scope " +
      "`account:read`.",
    subscribe: followDeposits,
  })
  depositChanged(
    @Root() event: DomainEvent<"deposit.seen">,
    @Ctx() { services }: Context,
    @Arg("after", () => CursorScalar, { nullable: true, description: AFTER_DESCRIPTION })
    _after: string | null,
  ): DepositEventType {
    return toDepositEvent(event, services.events);
  }

  @FieldResolver(() => DepositType, {
    nullable: true,
    description: "The current state of the deposit. Null if it cannot be read.",
  })
  async deposit(
    @Root() { depositId }: DepositEventType,
    @Ctx() { services }: Context,
  ): Promise<Deposit | null> {
    return (await services.deposits.byId(depositId)) ?? null;
  }
}

function followDeposits({ args, context }: Subscribing): Promise<EventStream<"deposit.seen">> {
  const subject = permit(context.principal, "deposit.read").account;
  return context.services.events.follow({ topic: "deposit.seen", subject }, args.after ?? undefined);
}
