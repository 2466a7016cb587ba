import "../../shared/schema/reflect.ts";
import { Field, ObjectType } from "type-graphql";
import { DateTimeScalar, NeuronScalar } from "../../shared/schema/scalars.ts";

/** Money of an account. */
@ObjectType("Balance", {
  description: "What an account has: total = deposit + credit, and available = total - held.",
  simpleResolvers: true,
})
export class BalanceType {
  @Field(() => NeuronScalar, { description: "What is left of what was paid in on chain." })
  deposit!: bigint;

  @Field(() => NeuronScalar, { description: "What is left of what was given; it is spent first." })
  credit!: bigint;

  @Field(() => NeuronScalar, { description: "Deposit and credit together." })
  total!: bigint;

  @Field(() => NeuronScalar, {
    description: "What is set aside for requests that are running. It is part of the total.",
  })
  held!: bigint;

  @Field(() => NeuronScalar, { description: "What may be spent now." })
  available!: bigint;

  @Field(() => DateTimeScalar, { description: "The moment of which all this is true." })
  asOf!: Date;
}
