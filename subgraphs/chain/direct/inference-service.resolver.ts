import "../../shared/schema/reflect.ts";
import { Arg, Args, Ctx, FieldResolver, Query, Resolver, Root } from "type-graphql";
import type { InferenceService } from "../../../src/chain/direct/inference-registry.ts";
import { type Hex, lowerHex } from "../../../src/kernel/text/hex.ts";
import type { Context } from "../../shared/context.ts";
import { type Connection, PageArgs, pageOf } from "../../shared/schema/connection.ts";
import { AddressScalar } from "../../shared/schema/scalars.ts";
import { ProviderStub } from "../provider.stub.ts";
import { InferenceServiceConnection, InferenceServiceType } from "./inference-service.type.ts";

/** The registry of inference services, also of those that the router does not use. */
@Resolver(() => InferenceServiceType)
export class InferenceServiceResolver {
  @Query(() => InferenceServiceConnection, {
    nullable: true,
    description: "Every row of the inference registry, by provider and at most 5 s old; 5,000 at most.",
  })
  async inferenceServices(
    @Args(() => PageArgs) args: PageArgs,
    @Ctx() { services }: Context,
  ): Promise<Connection<InferenceService>> {
    return pageOf(await services.registry.recent(), args, ({ address }) => address);
  }

  @Query(() => InferenceServiceType, {
    nullable: true,
    description: "A provider's row in the inference registry, null if it is not registered.",
  })
  inferenceService(
    @Arg("provider", () => AddressScalar, { description: "The provider's address." }) provider: Hex,
    @Ctx() { loaders }: Context,
  ): Promise<InferenceService | undefined> {
    return loaders.services.load(lowerHex(provider));
  }

  @FieldResolver(() => AddressScalar, { description: "The provider's address." })
  providerAddress(@Root() { address }: InferenceService): string {
    return address;
  }

  @FieldResolver(() => ProviderStub, {
    nullable: true,
    description: "The provider; of one that the router does not use, only what the chain knows.",
  })
  provider(@Root() { address }: InferenceService): ProviderStub {
    return { address };
  }
}
