import "../../shared/schema/reflect.ts";
import { Field, ObjectType } from "type-graphql";
import { type Balance, toBalance } from "../../../src/accounts/balance.service.ts";
import type { BalanceCause as Cause, DomainEvent } from "../../../src/events/topics.ts";
import { type CursorSource, EventType, toEvent } from "../../shared/events/event.type.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import { AccountType, toAccount } from "../account/account.type.ts";
import { InferenceRequestStub, toRequestStub } from "../inference-request.stub.ts";
import { BalanceType } from "./balance.type.ts";

/** Why a balance changed. */
const BalanceCause = defineEnum<Cause>("BalanceCause", "Why a balance changed.", {
  deposit: "A deposit was credited.",
  hold: "Funds were held, for a request and for the next ones of its key.",
  settlement: "A request was charged.",
  release: "Held funds were not needed and returned, or a request cost nothing.",
  credit: "Credit was granted.",
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

  @Field(() => BalanceCause, { description: "Why the balance changed." })
  cause!: Cause;

  @Field(() => AccountType, { description: "The account of the balance." })
  account!: AccountType;

  @Field(() => InferenceRequestStub, {
    nullable: true,
    description:
      "The request that caused the change. Null for deposits, credits and holds, and for a release of funds that were " +
      "held for no request in particular.",
  })
  request!: InferenceRequestStub | null;
}

/** Maps a balance change to its GraphQL type. */
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
    request: requestId === null ? null : toRequestStub(requestId),
  };
}
