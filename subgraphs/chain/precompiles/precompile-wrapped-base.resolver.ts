import "../../shared/schema/reflect.ts";
import { Arg, Ctx, FieldResolver, Query, Resolver } from "type-graphql";
import type { MinterSupply } from "../../../src/chain/precompiles/wrapped-base.client.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import type { Context } from "../../shared/context.ts";
import { AddressScalar } from "../../shared/schema/scalars.ts";
import { MinterSupplyType, WrappedBaseType } from "./precompile-wrapped-base.type.ts";

/** The reads of the precompile WrappedOGBase (SPEC 4.4). */
@Resolver(() => WrappedBaseType)
export class WrappedBaseResolver {
  @Query(() => WrappedBaseType, {
    nullable: true,
    description:
      "The minting quotas of the wrapped token. The fields fail with `contract_not_found` on a chain without the " +
      "precompile.",
  })
  wrappedBase(@Ctx() { services }: Context): WrappedBaseType {
    return { address: services.wrappedBase.address() };
  }

  @FieldResolver(() => AddressScalar, {
    nullable: true,
    description:
      "The wrapped token's contract. Null, with an error, if the chain has no such precompile or cannot be read.",
  })
  wrappedToken(@Ctx() { services }: Context): Promise<string> {
    return services.wrappedBase.wrappedToken();
  }

  @FieldResolver(() => MinterSupplyType, {
    nullable: true,
    description: "A minter's quota. All amounts are 0 for an account without a quota.",
  })
  minterSupply(
    @Arg("minter", () => AddressScalar, { description: "The minter's address." }) minter: Hex,
    @Ctx() { services }: Context,
  ): Promise<MinterSupply> {
    return services.wrappedBase.minterSupply(minter);
  }
}
