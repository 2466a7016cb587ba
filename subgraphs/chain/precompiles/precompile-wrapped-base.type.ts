import "../../shared/schema/reflect.ts";
import { Field, ObjectType } from "type-graphql";
import type { MinterSupply } from "../../../src/chain/precompiles/wrapped-base.client.ts";
import { AddressScalar, NeuronScalar } from "../../shared/schema/scalars.ts";

/** The precompile WrappedOGBase. The rest of its fields are resolved. */
@ObjectType("WrappedBase", {
  description: "The minting quotas of the wrapped token, read from the precompile WrappedOGBase.",
  simpleResolvers: true,
})
export class WrappedBaseType {
  @Field(() => AddressScalar, { description: "The address of the precompile." })
  address!: string;
}

/** A minter's quota of the wrapped token. */
@ObjectType("MinterSupply", { description: "A minter's quota of the wrapped token.", simpleResolvers: true })
export class MinterSupplyType implements MinterSupply {
  @Field(() => AddressScalar, { description: "The minter's address." })
  minter!: MinterSupply["minter"];

  @Field(() => NeuronScalar, { description: "The maximum supply that the minter may have minted." })
  cap!: bigint;

  @Field(() => NeuronScalar, {
    description: "The minter's initial supply, which was also its initial burn allowance.",
  })
  initialSupply!: bigint;

  @Field(() => NeuronScalar, { description: "The minter's current supply." })
  supply!: bigint;

  @Field(() => NeuronScalar, {
    description: "The amount that the minter can still mint: cap minus supply, never below 0.",
  })
  remaining!: bigint;
}
