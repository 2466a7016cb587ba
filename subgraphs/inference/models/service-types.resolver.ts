import "../../shared/schema/reflect.ts";
import { Ctx, Field, Int, ObjectType, Query, Resolver } from "type-graphql";
import type { ServiceType as Type } from "../../../src/inference/providers/provider.ts";
import { countServiceTypes, type ServiceTypeCount } from "../../../src/inference/providers/service-types.ts";
import type { Context } from "../../shared/context.ts";
import { CacheFor } from "../../shared/schema/cache-for.ts";
import { ServiceType } from "../../shared/schema/service-type.ts";

/** A type of service, and how many providers offer it. */
@ObjectType("ServiceTypeCount", {
  description: "A type of service, and how many providers offer it.",
  simpleResolvers: true,
})
export class ServiceTypeCountType implements ServiceTypeCount {
  @Field(() => ServiceType, { description: "The type of service." })
  type!: Type;

  @Field(() => String, { description: "The name of the type for people, such as `Text to image`." })
  label!: string;

  @Field(() => Int, { description: "The number of registered providers that offer it. 0 if there is none." })
  providerCount!: number;
}

/** The types of service. */
@Resolver()
export class ServiceTypesResolver {
  @CacheFor(5)
  @Query(() => [ServiceTypeCountType], {
    nullable: true,
    description:
      "Every type of service that the router knows, with the number of its providers. Lists of models can be filtered by it.",
  })
  serviceTypes(@Ctx() { services }: Context): readonly ServiceTypeCountType[] {
    return countServiceTypes(services.catalogue.providers());
  }
}
