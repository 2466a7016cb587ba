import "./schema/reflect.ts";
import { Directive, Field, Int, ObjectType } from "type-graphql";
import type { PreparedTransaction } from "../../src/chain/transactions/prepared-transaction.ts";
import { AddressScalar, HexScalar, NeuronScalar } from "./schema/scalars.ts";

/** A transaction for a wallet. */
@Directive("@shareable")
@ObjectType("PreparedTransaction", {
  description: "A transaction that is not signed: a wallet signs and sends it.",
  simpleResolvers: true,
})
export class PreparedTransactionType implements PreparedTransaction {
  @Field(() => Int, { description: "The chain that it is for." })
  chainId!: number;

  @Field(() => AddressScalar, { nullable: true, description: "Who has to send it, where only one may." })
  from!: PreparedTransaction["from"];

  @Field(() => AddressScalar, { description: "The contract that it calls." })
  to!: PreparedTransaction["to"];

  @Field(() => HexScalar, { description: "The call." })
  data!: PreparedTransaction["data"];

  @Field(() => NeuronScalar, { description: "What is paid with it." })
  value!: bigint;

  @Field(() => [String], { description: "What whoever signs it should know." })
  warnings!: readonly string[];
}
