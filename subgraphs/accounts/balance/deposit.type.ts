import "../../shared/schema/reflect.ts";
import { Field, Int, ObjectType } from "type-graphql";
import type { Deposit } from "../../../src/accounts/deposits.service.ts";
import { defineNodeResolvers, NodeType } from "../../shared/nodes/node.type.ts";
import { defineCountedConnection } from "../../shared/schema/connection.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import { BigIntScalar, DateTimeScalar, Hash32Scalar, NeuronScalar } from "../../shared/schema/scalars.ts";

/** The status of a deposit. */
export const DepositStatus = defineEnum<Deposit["status"]>("DepositStatus", "The status of a deposit.", {
  seen: "The deposit is on chain and waits for confirmations.",
  confirmed: "The deposit is credited. Final.",
  reverted: "A reorg removed the deposit before it was credited.",
});

/** A deposit, as its account sees it. */
@ObjectType("Deposit", {
  description: "An on-chain payment into the router's vault.",
  implements: NodeType,
  simpleResolvers: true,
})
export class DepositType {
  @Field(() => NeuronScalar, { description: "The deposited amount." })
  amount!: bigint;

  @Field(() => DepositStatus, { description: "The deposit's status." })
  status!: Deposit["status"];

  @Field(() => Int, { description: "The number of scanned blocks after the deposit's block." })
  confirmations!: number;

  @Field(() => Int, { description: "The number of confirmations required before the deposit is credited." })
  requiredConfirmations!: number;

  @Field(() => Hash32Scalar, { description: "The hash of the deposit's transaction." })
  transactionHash!: string;

  @Field(() => BigIntScalar, { description: "The number of the transaction's block." })
  blockNumber!: bigint;

  @Field(() => DateTimeScalar, { description: "When the deposit was first seen by this service." })
  seenAt!: Date;

  @Field(() => DateTimeScalar, {
    nullable: true,
    description: "When the deposit was credited. Null until then.",
  })
  creditedAt!: Date | null;
}

/** The global id of a deposit, and its raw id. */
export const DepositNodeResolvers = defineNodeResolvers<Deposit>(() => DepositType, {
  name: "Deposit",
  keyOf: ({ id }) => id,
  raw: { field: "depositId", description: "The deposit's raw id, as in its events." },
});

/** A list of deposits. */
export const DepositConnection = defineCountedConnection("Deposit", () => DepositType);
