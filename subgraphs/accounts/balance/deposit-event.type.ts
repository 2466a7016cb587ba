import "../../shared/schema/reflect.ts";
import { Field, ID, ObjectType } from "type-graphql";
import type { Deposit } from "../../../src/accounts/deposits.service.ts";
import type { DomainEvent } from "../../../src/events/topics.ts";
import { type CursorSource, EventType, toEvent } from "../../shared/events/event.type.ts";
import { NeuronScalar } from "../../shared/schema/scalars.ts";
import { AccountType, toAccount } from "../account/account.type.ts";
import { DepositStatus } from "./deposit.type.ts";

/** A step of a deposit. */
@ObjectType("DepositEvent", {
  description: "A deposit was seen on chain, credited, or taken back by the chain.",
  implements: EventType,
  simpleResolvers: true,
})
export class DepositEventType extends EventType {
  @Field(() => ID, { description: "The deposit's id." })
  depositId!: string;

  @Field(() => NeuronScalar, { description: "How much was paid in." })
  amount!: bigint;

  @Field(() => DepositStatus, { description: "How far the deposit had come with this event." })
  status!: Deposit["status"];

  @Field(() => AccountType, { description: "Whose deposit it is." })
  account!: AccountType;
}

/** A step of a deposit as the graph tells of it. */
export function toDepositEvent(event: DomainEvent<"deposit.seen">, cursors: CursorSource): DepositEventType {
  const { account, depositId, amount, status } = event.data;
  return {
    ...toEvent(event, cursors),
    depositId,
    amount: BigInt(amount),
    status,
    account: toAccount(account),
  };
}
