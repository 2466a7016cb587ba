import "../../shared/schema/reflect.ts";
import { Arg, Resolver, Root, Subscription } from "type-graphql";
import { type MessagePiece, messageEvents } from "../../../src/inference/messages/message-event-iterator.ts";
import { newRequestId } from "../../../src/kernel/text/ids.ts";
import { permitSpender } from "../../../src/keys/auth/permissions.ts";
import type { Context } from "../../shared/context.ts";
import { toBill } from "../chat/chat.type.ts";
import { tagged } from "../tagged.ts";
import { MessagePieceType, toMessageDelta } from "./message.type.ts";
import { MessageInput, toMessageOptions, toMessagesRequest } from "./message-input.type.ts";

type Subscribing = { readonly args: { readonly input: MessageInput }; readonly context: Context };

/** Streamed messages in Anthropic's format. */
@Resolver()
export class CreateMessageSubscription {
  @Subscription(() => MessagePieceType, {
    description:
      "Streams a message in Anthropic's format in pieces; the last piece is the bill. If you unsubscribe early, what was delivered is billed. It has no cursor, because subscribing again would be another request. Requires an `sk-` key.",
    subscribe: openMessage,
  })
  createMessage(
    @Root() piece: MessagePiece,
    @Arg("input", () => MessageInput, { description: "The request for a message." }) _input: MessageInput,
  ): MessagePieceType {
    if (piece.kind === "event")
      return { delta: toMessageDelta(piece.event), inputTokens: null, outputTokens: null, bill: null };
    const { inputTokens, outputTokens, trace } = piece;
    return { delta: null, inputTokens, outputTokens, bill: toBill(trace) };
  }
}

async function openMessage({
  args: { input },
  context,
}: Subscribing): Promise<AsyncIterableIterator<MessagePiece>> {
  const { services, principal } = context;
  const caller = { ...permitSpender(principal, "inference.run"), requestId: newRequestId() };
  const request = await toMessagesRequest(input, { stream: true });
  return messageEvents(services.messages, request, tagged(caller, input.tags), toMessageOptions(input));
}
