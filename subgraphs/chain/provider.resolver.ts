import "../shared/schema/reflect.ts";
import { Ctx, FieldResolver, Resolver, Root } from "type-graphql";
import type { InferenceService } from "../../src/chain/direct/inference-registry.ts";
import { lowerHex } from "../../src/kernel/text/hex.ts";
import type { Context } from "../shared/context.ts";
import { InferenceServiceType } from "./direct/inference-service.type.ts";
import { ProviderStub } from "./provider.stub.ts";

/** The on-chain data of a provider. */
@Resolver(() => ProviderStub)
export class ProviderResolver {
  @FieldResolver(() => InferenceServiceType, {
    nullable: true,
    description:
      "The provider's current row in the inference registry on chain. Null for a provider that is listed only in this router's configuration.",
  })
  onChain(
    @Root() { address }: ProviderStub,
    @Ctx() { loaders }: Context,
  ): Promise<InferenceService | undefined> {
    return loaders.services.load(lowerHex(address));
  }
}
