import "../../shared/schema/reflect.ts";
import { Arg, Ctx, Int, Query, Resolver } from "type-graphql";
import { z } from "zod";
import { CHAT_SIZE_FIELDS } from "../../../src/inference/chat/chat-request.ts";
import { plannedChat } from "../../../src/inference/chat/chat-size.ts";
import type { ServiceType as Type } from "../../../src/inference/providers/provider.ts";
import type { RoutingPreview } from "../../../src/inference/routing/routing.service.ts";
import { checkInput } from "../../../src/kernel/check.ts";
import { permitSpender } from "../../../src/keys/auth/permissions.ts";
import { Requires } from "../../shared/access.ts";
import type { Context } from "../../shared/context.ts";
import { ServiceType } from "../../shared/schema/service-type.ts";
import { ChatMessageInput, toMessage } from "../chat/chat.type.ts";
import { RoutingPreviewType } from "./routing.type.ts";
import { RoutingInput, toPreferences } from "./routing-input.type.ts";

/** What a chat may say about its size, as over REST. */
const CHAT_SIZE = z.object(CHAT_SIZE_FIELDS);

/** Previews how a request would be routed. */
@Resolver()
export class RoutingPreviewResolver {
  @Requires("routing.preview")
  @Query(() => RoutingPreviewType, {
    nullable: true,
    description:
      "Previews which providers would serve a request of this key. No provider is called and nothing is billed. " +
      "Requires an `sk-` key.",
  })
  async routingPreview(
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
      description:
        "The messages of a chat request. If given, providers are ranked by the cost of the request.",
    })
    messages: readonly ChatMessageInput[] | null,
    @Arg("maxTokens", () => Int, {
      nullable: true,
      description:
        "The maximum number of completion tokens of a chat request. Default: a typical answer of 400 tokens.",
    })
    maxTokens: number | null,
    @Arg("n", () => Int, {
      nullable: true,
      description: "The number of choices of a chat request, 1 to 128. Default: 1.",
    })
    n: number | null,
    @Ctx() { services, principal }: Context,
  ): Promise<RoutingPreview> {
    const spender = permitSpender(principal, "routing.preview");
    const sent = { messages: messages?.map(toMessage), max_tokens: maxTokens, n };
    const size = checkInput(CHAT_SIZE, sent, "invalid_parameter");
    const chat = plannedChat({
      messages: size.messages,
      maxTokens: size.max_tokens ?? undefined,
      choices: size.n ?? undefined,
    });
    const promptStart = { messages: size.messages };
    const query = { serviceType, model: model ?? undefined, chat, promptStart };
    return services.routing.preview(query, toPreferences(routing), spender);
  }
}
