import "../shared/reflect.ts";
import { Arg, Ctx, Query, Resolver } from "type-graphql";
import type { ServiceType as Type } from "../../src/inference/provider.ts";
import type { RoutingPreview } from "../../src/inference/routing.service.ts";
import { permitSpender } from "../../src/keys/permissions.ts";
import type { Context } from "../shared/context.ts";
import { ServiceType } from "../shared/service-type.ts";
import { RoutingInput, RoutingPreviewType, toWishes } from "./routing.type.ts";

/** Who would serve a request. */
@Resolver()
export class RoutingPreviewResolver {
  @Query(() => RoutingPreviewType, {
    nullable: true,
    description: "Who would serve a request of this key, asking and billing nothing. Needs an `sk-` key.",
  })
  routingPreview(
    @Arg("serviceType", () => ServiceType, { description: "What is to be done." }) serviceType: Type,
    @Arg("model", () => String, {
      nullable: true,
      description: "By which model; by each that there is unless told.",
    })
    model: string | null,
    @Arg("routing", () => RoutingInput, { nullable: true, description: "How to choose." })
    routing: RoutingInput | null,
    @Ctx() { services, principal }: Context,
  ): Promise<RoutingPreview> {
    const { keyId } = permitSpender(principal, "routing.preview");
    return services.routing.preview({ serviceType, model: model ?? undefined }, toWishes(routing), keyId);
  }
}
