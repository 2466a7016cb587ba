import "../../shared/schema/reflect.ts";
import { Arg, Ctx, Field, Int, Mutation, ObjectType, Query, Resolver } from "type-graphql";
import { newRequestId } from "../../../src/kernel/text/ids.ts";
import { permitSpender } from "../../../src/keys/auth/permissions.ts";
import { Requires } from "../../shared/access.ts";
import type { Context } from "../../shared/context.ts";
import { runOnce } from "../../shared/once.ts";
import { answerMutation } from "../../shared/user-errors.ts";
import { tagged } from "../tagged.ts";
import { CreateMessagePayload, type MessageAnswer, toMessage } from "./message.type.ts";
import {
  CreateMessageInput,
  MessageTokenCountInput,
  toMessageOptions,
  toMessagesRequest,
  toTokenCountRequest,
} from "./message-input.type.ts";

/** The number of tokens of a prompt. */
@ObjectType("MessageTokenCount", { description: "The number of tokens of a prompt.", simpleResolvers: true })
export class MessageTokenCountType {
  @Field(() => Int, {
    description: "The number of prompt tokens that a request with this prompt would have.",
  })
  inputTokens!: number;
}

/** Messages in Anthropic's format, without streaming. */
@Resolver()
export class MessageResolver {
  @Requires("inference.run")
  @Query(() => MessageTokenCountType, {
    nullable: true,
    description:
      "Counts the tokens of a prompt in Anthropic's format: by the provider if it can, otherwise by the router's " +
      "tokenizer. Not billed. The guardrails of the key are checked before anything is sent. Requires an " +
      "`sk-` key.",
  })
  async messageTokenCount(
    @Arg("input", () => MessageTokenCountInput, { description: "The prompt." }) input: MessageTokenCountInput,
    @Ctx() { services, principal, signal = new AbortController().signal }: Context,
  ): Promise<MessageTokenCountType> {
    const caller = permitSpender(principal, "inference.run");
    const options = { ...toMessageOptions(input), signal };
    return {
      inputTokens: await services.messages.countTokens(await toTokenCountRequest(input), caller, options),
    };
  }

  @Mutation(() => CreateMessagePayload, {
    nullable: true,
    description:
      "Creates a message from a model, in Anthropic's format. Billed even if the client disconnects before the " +
      "response. The subscription `createMessage` delivers it in pieces. Requires an `sk-` key.",
  })
  async createMessage(
    @Arg("input", () => CreateMessageInput, { description: "The request for a message." })
    { idempotencyKey: key, ...input }: CreateMessageInput,
    @Ctx() context: Context,
  ): Promise<CreateMessagePayload> {
    const { services, principal } = context;
    const caller = { ...permitSpender(principal, "inference.run"), requestId: newRequestId() };
    const { signal } = new AbortController();
    return answerMutation(input, async () => {
      const body = await runOnce(
        context,
        { ...caller, field: "createMessage", key, input, isBilled: true },
        async () => {
          const request = await toMessagesRequest(input, { stream: false });
          return (
            await services.messages.create(request, tagged(caller, input.tags), {
              ...toMessageOptions(input),
              signal,
            })
          ).body;
        },
      );
      return { message: toMessage(JSON.parse(body.toString("utf8")) as MessageAnswer) };
    });
  }
}
