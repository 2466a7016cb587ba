import "../../shared/schema/reflect.ts";
import { Field, ObjectType } from "type-graphql";
import { DateTimeScalar, NeuronScalar } from "../../shared/schema/scalars.ts";

/** An account's balance. */
@ObjectType("Balance", {
  description: "An account's balance: total = deposit + credit, and available = total - held.",
  simpleResolvers: true,
})
export class BalanceType {
  @Field(() => NeuronScalar, { description: "The unspent part of the account's deposits." })
  deposit!: bigint;

  @Field(() => NeuronScalar, {
    description: "The unspent part of granted credit. Credit is spent before deposits.",
  })
  credit!: bigint;

  @Field(() => NeuronScalar, { description: "The sum of deposit and credit." })
  total!: bigint;

  @Field(() => NeuronScalar, {
    description:
      "The amount held for running requests, and in advance for the next ones. It is part of the total.",
  })
  held!: bigint;

  @Field(() => NeuronScalar, { description: "The amount that can be spent now." })
  available!: bigint;

  @Field(() => DateTimeScalar, { description: "When the balance had these values." })
  asOf!: Date;
}
