import "./schema/reflect.ts";
import { Directive, Field, Int, ObjectType } from "type-graphql";
import type { PreparedTransaction } from "../../src/chain/transactions/prepared-transaction.ts";
import { AddressScalar, HexScalar, NeuronScalar } from "./schema/scalars.ts";

/** An unsigned transaction for a wallet. */
@Directive("@shareable")
@ObjectType("PreparedTransaction", {
  description: "An unsigned transaction, for a wallet to sign and send.",
  simpleResolvers: true,
})
export class PreparedTransactionType implements PreparedTransaction {
  @Field(() => Int, { description: "The id of the chain to send it on." })
  chainId!: number;

  @Field(() => AddressScalar, {
    nullable: true,
    description: "The required sender. Null if any account may send it.",
  })
  from!: PreparedTransaction["from"];

  @Field(() => AddressScalar, { description: "The contract to call." })
  to!: PreparedTransaction["to"];

  @Field(() => HexScalar, { description: "The ABI-encoded call." })
  data!: PreparedTransaction["data"];

  @Field(() => NeuronScalar, { description: "The amount to send with the call." })
  value!: bigint;

  @Field(() => [String], { description: "Warnings for the signer." })
  warnings!: readonly string[];
}
