import "../../shared/schema/reflect.ts";
import { Field, ObjectType } from "type-graphql";
import type { MinterSupply } from "../../../src/chain/precompiles/wrapped-base.client.ts";
import { AddressScalar, NeuronScalar } from "../../shared/schema/scalars.ts";

/** The precompile WrappedOGBase. The rest of its fields are resolved. */
@ObjectType("WrappedBase", {
  description:
    "The quotas under which the wrapped token is minted, as the precompile WrappedOGBase has them.",
  simpleResolvers: true,
})
export class WrappedBaseType {
  @Field(() => AddressScalar, { description: "Where the precompile is." })
  address!: string;
}

/** A minter's quota of the wrapped token. */
@ObjectType("MinterSupply", { description: "A minter's quota of the wrapped token.", simpleResolvers: true })
export class MinterSupplyType implements MinterSupply {
  @Field(() => AddressScalar, { description: "Whose it is." })
  minter!: MinterSupply["minter"];

  @Field(() => NeuronScalar, { description: "The most that it may have minted." })
  cap!: bigint;

  @Field(() => NeuronScalar, {
    description: "What it began with, which was also what it could burn at first.",
  })
  initialSupply!: bigint;

  @Field(() => NeuronScalar, { description: "What it has minted now." })
  supply!: bigint;

  @Field(() => NeuronScalar, {
    description: "What it may still mint: the cap without the supply, never below 0.",
  })
  remaining!: bigint;
}
