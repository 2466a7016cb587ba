import "../../shared/schema/reflect.ts";
import { Arg, Args, Ctx, Directive, FieldResolver, Query, Resolver, Root } from "type-graphql";
import type { HealthGrain } from "../../../src/inference/providers/health/health-history.service.ts";
import { matchesOffer, offerSortKey } from "../../../src/inference/providers/offer-filter.ts";
import {
  isAttested,
  isRoutable,
  type Model,
  type Provider,
  publicUrlOf,
  type TrustMode as Trust,
  trustModeOf,
} from "../../../src/inference/providers/provider.ts";
import type { Context } from "../../shared/context.ts";
import { type Connection, pageOf } from "../../shared/schema/connection.ts";
import { AddressScalar } from "../../shared/schema/scalars.ts";
import { TrustMode } from "../../shared/trust-mode.ts";
import { AttestationType, toAttestation } from "./attestation.type.ts";
import {
  HealthPeriod,
  ProviderHealthPointType,
  ProviderHealthType,
  toHealth,
  toHealthPoint,
} from "./health.type.ts";
import { ModelType } from "./model.type.ts";
import { ProvidersArgs, toOfferFilter } from "./offer-filter.type.ts";
import { PricingType, toPricing } from "./pricing.type.ts";
import { PricingUsdType, toPricingUsd } from "./pricing-usd.type.ts";
import { ModelProfileType, toProfile } from "./profile.type.ts";
import { ProviderConnection, ProviderType } from "./provider.type.ts";

/** The providers of models. */
@Resolver(() => ProviderType)
export class ProviderResolver {
  @Query(() => ProviderConnection, {
    nullable: true,
    description: "The providers, or those that match a filter. Ordered by address unless `orderBy` is given.",
  })
  providers(
    @Args(() => ProvidersArgs) args: ProvidersArgs,
    @Ctx() { services }: Context,
  ): Connection<Provider> {
    const filter = toOfferFilter(args.filter);
    const { field, direction } = args.orderBy ?? { field: "key", direction: "asc" };
    const offers = services.catalogue.providers().filter((offer) => matchesOffer(offer, filter));
    return pageOf(
      `providers-by-${field}-${direction}`,
      offers,
      args,
      (offer) => offerSortKey(offer, offer.address, field),
      direction,
    );
  }

  @Query(() => ProviderType, {
    nullable: true,
    description: "A provider by its address. Null if it is not registered.",
  })
  provider(
    @Arg("address", () => AddressScalar, { description: "The provider's address." }) address: string,
    @Ctx() { services }: Context,
  ): Provider | undefined {
    return services.catalogue.provider(address);
  }

  @FieldResolver(() => String, {
    nullable: true,
    description:
      "The URL of the provider's service. Null for a server from the operator's configuration, which is not on chain.",
  })
  url(@Root() offer: Provider): string | null {
    return publicUrlOf(offer);
  }

  @FieldResolver(() => [ModelType], { description: "The models that the provider offers." })
  models(@Root() { model, serviceType }: Provider, @Ctx() { services }: Context): readonly Model[] {
    const offered = services.catalogue.model(model, serviceType);
    return offered ? [offered] : [];
  }

  @FieldResolver(() => PricingType, { description: "The provider's prices." })
  pricing(@Root() offer: Provider): PricingType {
    return toPricing(offer);
  }

  @FieldResolver(() => PricingUsdType, {
    nullable: true,
    description:
      "The provider's prices in US dollars. Null while the price of the network's token is unknown: see the setting `TOKEN_USD`.",
  })
  pricingUsd(@Root() offer: Provider, @Ctx() { services }: Context): PricingUsdType | null {
    return toPricingUsd(offer, services.tokenPrice.known());
  }

  @FieldResolver(() => TrustMode, { description: "The provider's trust mode." })
  trustMode(@Root() offer: Provider): Trust {
    return trustModeOf(offer);
  }

  @FieldResolver(() => AttestationType, {
    nullable: true,
    description:
      "The attestation of the provider's enclave, appraised in the background. Null if the router does not appraise attestations, or has not appraised this provider's current signer yet.",
  })
  attestation(@Root() offer: Provider, @Ctx() { services }: Context): AttestationType | undefined {
    const found = services.attestations?.of(offer);
    return found && toAttestation(found);
  }

  @FieldResolver(() => ProviderHealthType, {
    description: "The provider's health, as measured by this router.",
  })
  health(@Root() offer: Provider, @Ctx() { services }: Context): ProviderHealthType {
    return toHealth(services.health.of(offer));
  }

  @FieldResolver(() => ProviderHealthPointType, {
    nullable: true,
    description: "The provider's overall health in the last 30 days. Null without requests.",
  })
  async recentHealth(
    @Root() offer: Provider,
    @Ctx() { loaders }: Context,
  ): Promise<ProviderHealthPointType | null> {
    const point = await loaders.recentHealth.load([offer]);
    return point ? toHealthPoint(point) : null;
  }

  @Directive("@cost(weight: 5)")
  @Directive("@listSize(assumedSize: 30)")
  @FieldResolver(() => [ProviderHealthPointType], {
    nullable: true,
    description:
      "The provider's health over time, oldest period first, delayed by up to 90 s. A period without requests has no point. Null, with an error, if it cannot be read.",
  })
  async healthHistory(
    @Arg("by", () => HealthPeriod, { defaultValue: "day", description: "The periods." }) grain: HealthGrain,
    @Root() offer: Provider,
    @Ctx() { loaders }: Context,
  ): Promise<readonly ProviderHealthPointType[]> {
    const points = await (grain === "hour" ? loaders.healthHours : loaders.healthDays).load(offer);
    return points.map(toHealthPoint);
  }

  @FieldResolver(() => ModelProfileType, {
    description: "The profile of the model that the provider offers.",
  })
  profile(@Root() { profile }: Provider): ModelProfileType {
    return toProfile(profile);
  }

  @FieldResolver(() => Boolean, {
    description:
      "Whether the provider's answers can be verified against a signer in its enclave that the network acknowledged.",
  })
  teeAttested(@Root() offer: Provider): boolean {
    return isAttested(offer);
  }

  @FieldResolver(() => Boolean, {
    description:
      "Whether requests may be routed to the provider: its URL is allowed, and the network acknowledged its signer.",
  })
  routable(@Root() offer: Provider): boolean {
    return isRoutable(offer);
  }
}

/** The provider of an address that another subgraph sent. */
export function findProvider(
  { address }: { readonly address: unknown },
  { services }: Context,
): Provider | undefined {
  return services.catalogue.provider(AddressScalar.parseValue(address));
}
