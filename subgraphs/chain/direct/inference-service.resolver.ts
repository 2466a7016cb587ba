import "../../shared/schema/reflect.ts";
import { Arg, Args, Ctx, FieldResolver, Query, Resolver, Root } from "type-graphql";
import type { InferenceService } from "../../../src/chain/direct/inference-registry.ts";
import { type Hex, lowerHex } from "../../../src/kernel/text/hex.ts";
import type { Context } from "../../shared/context.ts";
import { type Connection, PageArgs, pageOf } from "../../shared/schema/connection.ts";
import { AddressScalar } from "../../shared/schema/scalars.ts";
import { ProviderStub } from "../provider.stub.ts";
import { InferenceServiceConnection, InferenceServiceType } from "./inference-service.type.ts";

/** The registry of inference services, including those that the router does not use. */
@Resolver(() => InferenceServiceType)
export class InferenceServiceResolver {
  @Query(() => InferenceServiceConnection, {
    nullable: true,
    description:
      "The rows of the inference registry, ordered by provider. At most 5 s old, at most 5,000 rows.",
  })
  async inferenceServices(
    @Args(() => PageArgs) args: PageArgs,
    @Ctx() { services }: Context,
  ): Promise<Connection<InferenceService>> {
    return pageOf("inference-services", await services.registry.recent(), args, ({ address }) => address);
  }

  @Query(() => InferenceServiceType, {
    nullable: true,
    description: "A provider's row in the inference registry. Null if it is not registered.",
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
    description:
      "The provider as this router uses it. For a provider that the router does not use, only `address`, `onChain` and `fineTuning` can be read; if any other field is selected, the provider is null, with an error.",
  })
  provider(@Root() { address }: InferenceService): ProviderStub {
    return { address };
  }
}
