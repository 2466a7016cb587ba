import "../../shared/schema/reflect.ts";
import { Field, ObjectType } from "type-graphql";
import type { VaultBalance } from "../../../src/chain/vault.client.ts";
import { DateTimeScalar, NeuronScalar } from "../../shared/schema/scalars.ts";

/** An account's balance in the vault. */
@ObjectType("VaultBalance", {
  description: "An account's balance in the vault on chain, which other products of the network share.",
  simpleResolvers: true,
})
export class VaultBalanceType implements VaultBalance {
  @Field(() => NeuronScalar, { description: "The amount in the vault." })
  balance!: bigint;

  @Field(() => DateTimeScalar, {
    name: "asOf",
    simple: false,
    description: "When the chain was read: at most 2 s ago.",
  })
  queriedAt!: Date;
}

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
