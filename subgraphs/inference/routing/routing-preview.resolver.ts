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
      description: "The model. Default: every model.",
    })
    model: string | null,
    @Arg("routing", () => RoutingInput, { nullable: true, description: "How to choose." })
    routing: RoutingInput | null,
    @Arg("messages", () => [ChatMessageInput], {
      nullable: true,
      description: "The conversation, where it is a chat: providers are ranked by what it would cost.",
    })
    messages: readonly ChatMessageInput[] | null,
    @Arg("maxTokens", () => Int, {
      nullable: true,
      description: "How many tokens the answer of a chat may have; the usual answer (400 tokens) unless set.",
    })
    maxTokens: number | null,
    @Ctx() { services, principal }: Context,
  ): Promise<RoutingPreview> {
    const { keyId } = permitSpender(principal, "routing.preview");
    const chat = plannedChat({
      messages: messages?.map(toMessage),
      maxTokens: maxTokens ?? undefined,
    });
    const asked = { serviceType, model: model ?? undefined, chat };
    return services.routing.preview(asked, toPreferences(routing), keyId);
  }
}
