import "../../shared/schema/reflect.ts";
import { Field, ID, Int, ObjectType } from "type-graphql";
import type { Deposit } from "../../../src/accounts/deposits.service.ts";
import { defineConnection } from "../../shared/schema/connection.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import { BigIntScalar, DateTimeScalar, Hash32Scalar, NeuronScalar } from "../../shared/schema/scalars.ts";

/** How far a deposit has come. */
export const DepositStatus = defineEnum<Deposit["status"]>("DepositStatus", "How far a deposit has come.", {
  seen: "It is on chain and waits for confirmations.",
  confirmed: "It is credited, for good.",
  reverted: "A reorganisation of the chain took it back before it was credited.",
});

/** A deposit, as its account sees it. */
@ObjectType("Deposit", {
  description: "Money that was paid into the router's vault on chain.",
  simpleResolvers: true,
})
export class DepositType {
  @Field(() => ID, { description: "Its id." })
  id!: string;

  @Field(() => NeuronScalar, { description: "How much was paid in." })
  amount!: bigint;

  @Field(() => DepositStatus, { description: "How far it has come." })
  status!: Deposit["status"];

  @Field(() => Int, { description: "How many blocks follow its own, as far as we have read the chain." })
  confirmations!: number;

  @Field(() => Int, { description: "How many blocks must follow before it is credited." })
  requiredConfirmations!: number;

  @Field(() => Hash32Scalar, { description: "The transaction that paid it in." })
  transactionHash!: string;

  @Field(() => BigIntScalar, { description: "The block of that transaction." })
  blockNumber!: bigint;

  @Field(() => DateTimeScalar, { description: "When we first saw it." })
  seenAt!: Date;

  @Field(() => DateTimeScalar, { nullable: true, description: "When it was credited." })
  creditedAt!: Date | null;
}

/** A list of deposits. */
export const DepositConnection = defineConnection("Deposit", () => DepositType);
