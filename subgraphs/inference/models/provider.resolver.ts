import "../../shared/schema/reflect.ts";
import { Arg, Args, Ctx, FieldResolver, Query, Resolver, Root } from "type-graphql";
import {
  isRoutable,
  type Model,
  type Provider,
  type TrustMode as Trust,
  trustModeOf,
} from "../../../src/inference/providers/provider.ts";
import type { Context } from "../../shared/context.ts";
import { type Connection, PageArgs, pageOf } from "../../shared/schema/connection.ts";
import { AddressScalar } from "../../shared/schema/scalars.ts";
import { TrustMode } from "../../shared/trust-mode.ts";
import { ProviderHealthType, toHealth } from "./health.type.ts";
import { ModelType } from "./model.type.ts";
import { PricingType, toPricing } from "./pricing.type.ts";
import { ModelProfileType, toProfile } from "./profile.type.ts";
import { ProviderConnection, ProviderType } from "./provider.type.ts";

/** Who offers models. */
@Resolver(() => ProviderType)
export class ProviderResolver {
  @Query(() => ProviderConnection, { description: "All providers, by address." })
  providers(@Args(() => PageArgs) args: PageArgs, @Ctx() { services }: Context): Connection<Provider> {
    return pageOf(services.catalogue.providers(), args, ({ address }) => address);
  }

  @Query(() => ProviderType, { nullable: true, description: "A provider, null if it is not registered." })
  provider(
    @Arg("address", () => AddressScalar, { description: "The provider's address." }) address: string,
    @Ctx() { services }: Context,
  ): Provider | undefined {
    return services.catalogue.provider(address);
  }

  @FieldResolver()
  id(@Root() { address }: Provider): string {
    return address;
  }

  @FieldResolver(() => [ModelType], { description: "The models that it offers." })
  models(@Root() { model }: Provider, @Ctx() { services }: Context): readonly Model[] {
    const offered = services.catalogue.model(model);
    return offered ? [offered] : [];
  }

  @FieldResolver(() => PricingType, { description: "What it asks." })
  pricing(@Root() offer: Provider): PricingType {
    return toPricing(offer);
  }

  @FieldResolver(() => TrustMode, { description: "How far it can be trusted." })
  trustMode(@Root() offer: Provider): Trust {
    return trustModeOf(offer);
  }

  @FieldResolver(() => ProviderHealthType, { description: "How it fares, as far as this router knows." })
  health(@Root() offer: Provider, @Ctx() { services }: Context): ProviderHealthType {
    return toHealth(services.health.of(offer));
  }

  @FieldResolver(() => ModelProfileType, { description: "What it tells of its model." })
  profile(@Root() { profile }: Provider): ModelProfileType {
    return toProfile(profile);
  }

  @FieldResolver(() => Boolean, {
    description: "Whether requests may go to it: it has a URL, and the network acknowledged its signer.",
  })
  routable(@Root() offer: Provider): boolean {
    return isRoutable(offer);
  }
}

/** The provider behind an address that another subgraph sent. */
export function findProvider(
  { address }: { readonly address: unknown },
  { services }: Context,
): Provider | undefined {
  return services.catalogue.provider(AddressScalar.parseValue(address));
}
