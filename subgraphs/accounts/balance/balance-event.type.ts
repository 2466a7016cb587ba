import "../../shared/schema/reflect.ts";
import { Field, ObjectType } from "type-graphql";
import { type Balance, toBalance } from "../../../src/accounts/balance.service.ts";
import type { BalanceCause as Cause, DomainEvent } from "../../../src/events/topics.ts";
import { type CursorSource, EventType, toEvent } from "../../shared/events/event.type.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import { AccountType, toAccount } from "../account/account.type.ts";
import { InferenceRequestStub } from "../inference-request.stub.ts";
import { BalanceType } from "./balance.type.ts";

/** Why a balance changed. */
const BalanceCause = defineEnum<Cause>("BalanceCause", "Why a balance changed.", {
  deposit: "A deposit was credited.",
  deposit_reverted: "A deposit was taken back.",
  hold: "Money was set aside for a request.",
  settlement: "A request was paid for.",
  release: "A request cost nothing, and its hold was given back.",
  credit: "Credit was given.",
});

/** A change of a balance. */
@ObjectType("BalanceEvent", {
  description: "A balance changed.",
  implements: EventType,
  simpleResolvers: true,
})
export class BalanceEventType extends EventType {
  @Field(() => BalanceType, { description: "The balance after the change." })
  balance!: Balance;

  @Field(() => BalanceCause, { description: "Why it changed." })
  cause!: Cause;

  @Field(() => AccountType, { description: "Whose balance it is." })
  account!: AccountType;

  @Field(() => InferenceRequestStub, {
    nullable: true,
    description: "The request that caused it. Null for holds, which are made for several requests at once.",
  })
  request!: InferenceRequestStub | null;
}

/** A change of a balance as the graph tells of it. */
export function toBalanceEvent(
  event: DomainEvent<"balance.changed">,
  cursors: CursorSource,
): BalanceEventType {
  const { account, cause, requestId, ...figures } = event.data;
  return {
    ...toEvent(event, cursors),
    balance: toBalance(figures, event.at),
    cause,
    account: toAccount(account),
    request: requestId === null ? null : { id: requestId },
  };
}
