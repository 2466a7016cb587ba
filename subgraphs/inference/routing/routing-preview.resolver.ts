import "../../shared/schema/reflect.ts";
import { Arg, Ctx, Int, Query, Resolver } from "type-graphql";
import { plannedChat } from "../../../src/inference/chat/chat-size.ts";
import type { ServiceType as Type } from "../../../src/inference/providers/provider.ts";
import type { RoutingPreview } from "../../../src/inference/routing/routing.service.ts";
import { permitSpender } from "../../../src/keys/auth/permissions.ts";
import type { Context } from "../../shared/context.ts";
import { ServiceType } from "../../shared/schema/service-type.ts";
import { ChatMessageInput, toMessage } from "../chat/chat.type.ts";
import { RoutingInput, RoutingPreviewType, toPreferences } from "./routing.type.ts";

/** Previews how a request would be routed. */
@Resolver()
export class RoutingPreviewResolver {
  @Query(() => RoutingPreviewType, {
    nullable: true,
    description:
      "Previews which providers would serve a request of this key. No provider is called and nothing is billed. " +
      "Requires an `sk-` key.",
  })
  routingPreview(
    @Arg("serviceType", () => ServiceType, { description: "The type of the requested service." })
    serviceType: Type,
    @Arg("model", () => String, {
      nullable: true,
      description: "The id of the model. Default: every model.",
    })
    model: string | null,
    @Arg("routing", () => RoutingInput, { nullable: true, description: "Routing preferences." })
    routing: RoutingInput | null,
    @Arg("messages", () => [ChatMessageInput], {
      nullable: true,
      description: "The conversation of a chat request: providers are ranked by its cost.",
    })
    messages: readonly ChatMessageInput[] | null,
    @Arg("maxTokens", () => Int, {
      nullable: true,
      description:
        "The maximum number of completion tokens of a chat request. Default: a typical answer of 400 tokens.",
    })
    maxTokens: number | null,
    @Ctx() { services, principal }: Context,
  ): Promise<RoutingPreview> {
    const { keyId } = permitSpender(principal, "routing.preview");
    const chat = plannedChat({
      messages: messages?.map(toMessage),
      maxTokens: maxTokens ?? undefined,
    });
    const query = { serviceType, model: model ?? undefined, chat };
    return services.routing.preview(query, toPreferences(routing), keyId);
  }
}
