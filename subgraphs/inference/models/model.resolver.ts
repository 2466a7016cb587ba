import "../../shared/schema/reflect.ts";
import { Arg, Args, Ctx, FieldResolver, ID, Query, Resolver, Root } from "type-graphql";
import { matchesModel, offerSortKey } from "../../../src/inference/providers/offer-filter.ts";
import { API_FORMATS, type ApiFormat } from "../../../src/inference/providers/profile.ts";
import {
  changedAt,
  displayName,
  isAttested,
  type Model,
  ownerOf,
  type Provider,
} from "../../../src/inference/providers/provider.ts";
import type { Context } from "../../shared/context.ts";
import { readKeyOf } from "../../shared/nodes/node-id.ts";
import { CacheFor } from "../../shared/schema/cache-for.ts";
import { type Connection, pageOf } from "../../shared/schema/connection.ts";
import { DateTimeScalar } from "../../shared/schema/scalars.ts";
import { ProviderHealthPointType, toHealthPoint } from "./health.type.ts";
import { ModelConnection, ModelType } from "./model.type.ts";
import { ModelsArgs, toOfferFilter } from "./offer-filter.type.ts";
import { PricingType, toPricing } from "./pricing.type.ts";
import { PricingUsdType, toPricingUsd } from "./pricing-usd.type.ts";
import { ApiFormatEnum, ModelProfileType, toProfile } from "./profile.type.ts";
import { ProviderType } from "./provider.type.ts";

/** The available models. */
@Resolver(() => ModelType)
export class ModelResolver {
  @CacheFor(5)
  @Query(() => ModelConnection, {
    nullable: true,
    description:
      "The available models, or those that match a filter. Ordered by id unless `orderBy` is given.",
  })
  models(@Args(() => ModelsArgs) args: ModelsArgs, @Ctx() { services }: Context): Connection<Model> {
    const filter = toOfferFilter(args.filter);
    const { field, direction } = args.orderBy ?? { field: "key", direction: "asc" };
    const models = services.catalogue.models().filter((model) => matchesModel(model, filter));
    return pageOf(
      `models-by-${field}-${direction}`,
      models,
      args,
      ({ id, serviceType, providers: [cheapest] }) => offerSortKey(cheapest, `${id} ${serviceType}`, field),
      direction,
    );
  }

  @CacheFor(5)
  @Query(() => ModelType, {
    nullable: true,
    description: "A model by its id. Null if no provider offers it.",
  })
  model(
    @Arg("id", () => ID, { description: "The model's id." }) id: string,
    @Ctx() { services }: Context,
  ): Model | undefined {
    return services.catalogue.model(readKeyOf("Model", id));
  }

  @FieldResolver(() => String, {
    description:
      "The model's name for people, as its cheapest provider publishes it. Default: the model's id.",
  })
  name(@Root() { id, providers: [cheapest] }: Model): string {
    return cheapest ? displayName(cheapest) : id;
  }

  @FieldResolver(() => String, {
    nullable: true,
    description:
      "The name of the model's cheapest provider, or of the network if the provider has none. Null without a provider.",
  })
  ownedBy(@Root() { providers: [cheapest] }: Model): string | null {
    return cheapest ? ownerOf(cheapest) : null;
  }

  @FieldResolver(() => DateTimeScalar, { description: "When an offer of the model last changed." })
  updatedAt(@Root() model: Model): Date {
    return changedAt(model);
  }

  @FieldResolver(() => Boolean, {
    description:
      "Whether the answers of at least one provider can be verified, as in `Provider.teeAttested`.",
  })
  teeAttested(@Root() { providers }: Model): boolean {
    return providers.some(isAttested);
  }

  @FieldResolver(() => PricingType, {
    nullable: true,
    description: "The prices of the model's cheapest provider. Null without a provider.",
  })
  pricing(@Root() { providers: [cheapest] }: Model): PricingType | null {
    return cheapest ? toPricing(cheapest) : null;
  }

  @FieldResolver(() => PricingUsdType, {
    nullable: true,
    description:
      "The prices of the model's cheapest provider in US dollars. Null while the price of the network's token is unknown: see the setting `TOKEN_USD`.",
  })
  pricingUsd(@Root() { providers: [cheapest] }: Model, @Ctx() { services }: Context): PricingUsdType | null {
    return cheapest ? toPricingUsd(cheapest, services.tokenPrice.known()) : null;
  }

  @FieldResolver(() => [ApiFormatEnum], {
    description: "The API formats supported by at least one of the model's providers.",
  })
  supportedFormats(@Root() { providers }: Model): readonly ApiFormat[] {
    return API_FORMATS.filter((format) => providers.some(({ profile }) => profile.formats.includes(format)));
  }

  @FieldResolver(() => ModelProfileType, {
    nullable: true,
    description: "The model's profile, as published by its cheapest provider. Null without a provider.",
  })
  profile(@Root() { providers: [cheapest] }: Model): ModelProfileType | null {
    return cheapest ? toProfile(cheapest.profile) : null;
  }

  @FieldResolver(() => ProviderHealthPointType, {
    nullable: true,
    description: "The combined health of the model's providers over the last 30 days. Null without requests.",
  })
  async recentHealth(
    @Root() { providers }: Model,
    @Ctx() { loaders }: Context,
  ): Promise<ProviderHealthPointType | null> {
    const point = await loaders.recentHealth.load(providers);
    return point ? toHealthPoint(point) : null;
  }

  @FieldResolver(() => [ProviderType], { description: "The providers of the model, cheapest first." })
  providers(@Root() model: Model): readonly Provider[] {
    return model.providers;
  }
}
