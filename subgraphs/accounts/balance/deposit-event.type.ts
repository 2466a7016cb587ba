import "../../shared/schema/reflect.ts";
import { Field, ObjectType } from "type-graphql";
import type { Deposit } from "../../../src/accounts/deposits.service.ts";
import type { DomainEvent } from "../../../src/events/topics.ts";
import { type CursorSource, EventType, toEvent } from "../../shared/events/event.type.ts";
import { NeuronScalar } from "../../shared/schema/scalars.ts";
import { AccountType, toAccount } from "../account/account.type.ts";
import { DepositStatus } from "./deposit.type.ts";

/** A step of a deposit. */
@ObjectType("DepositEvent", {
  description: "A deposit was seen on chain, credited, or reverted by a reorg.",
  implements: EventType,
  simpleResolvers: true,
})
export class DepositEventType extends EventType {
  @Field(() => String, { description: "The deposit's raw id." })
  depositId!: string;

  @Field(() => NeuronScalar, { description: "The deposited amount." })
  amount!: bigint;

  @Field(() => DepositStatus, { description: "The deposit's status as of this event." })
  status!: Deposit["status"];

  @Field(() => AccountType, { description: "The account that the deposit belongs to." })
  account!: AccountType;
}

/** Maps a deposit step to its GraphQL type. */
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
