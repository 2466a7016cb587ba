import "../shared/reflect.ts";
import { Ctx, FieldResolver, Resolver, Root } from "type-graphql";
import type { Provider } from "../../src/inference/provider.ts";
import type { Context } from "../shared/context.ts";
import { InferenceServiceType } from "./inference-service.type.ts";
import { ProviderStub } from "./provider.stub.ts";

/** What the chain says of a provider. */
@Resolver(() => ProviderStub)
export class ProviderResolver {
  @FieldResolver(() => InferenceServiceType, {
    nullable: true,
    description: "Its row in the registry, as it was last read. Null if it is not registered.",
  })
  onChain(@Root() { address }: ProviderStub, @Ctx() { app }: Context): Provider | undefined {
    return app.catalogue.provider(address);
  }
}
