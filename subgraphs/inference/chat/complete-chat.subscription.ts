import "../../shared/schema/reflect.ts";
import { Arg, Resolver, Root, Subscription } from "type-graphql";
import { type ChatPiece, chatEvents } from "../../../src/inference/chat/chat-event-iterator.ts";
import { newRequestId } from "../../../src/kernel/text/ids.ts";
import { permitSpender } from "../../../src/keys/auth/permissions.ts";
import type { Context } from "../../shared/context.ts";
import { toPreferences } from "../routing/routing-input.type.ts";
import { tagged } from "../tagged.ts";
import { ChatInput, ChatPieceType, toBill, toChatRequest } from "./chat.type.ts";

type Subscribing = { readonly args: { readonly input: ChatInput }; readonly context: Context };

/** Streamed chat completions. */
@Resolver()
export class CompleteChatSubscription {
  @Subscription(() => ChatPieceType, {
    description:
      "Streams a chat completion in pieces; the last piece is the bill. If you unsubscribe early, what was delivered is billed. It has no cursor, because subscribing again would be another request. Requires an `sk-` key.",
    subscribe: openChat,
  })
  completeChat(
    @Root() piece: ChatPiece,
    @Arg("input", () => ChatInput, { description: "The chat completion request." }) _input: ChatInput,
  ): ChatPieceType {
    if (piece.kind === "end") {
      const { inputTokens, outputTokens, trace } = piece;
      return { delta: null, inputTokens, outputTokens, bill: toBill(trace) };
    }
    const { index, text, reasoning, toolCalls, finishReason } = piece;
    return {
      delta: {
        index,
        text: text ?? null,
        reasoning: reasoning ?? null,
        toolCalls: toolCalls ?? null,
        finishReason: finishReason ?? null,
      },
      inputTokens: null,
      outputTokens: null,
      bill: null,
    };
  }
}

async function openChat({
  args: { input },
  context,
}: Subscribing): Promise<AsyncIterableIterator<ChatPiece>> {
  const { services, principal } = context;
  const caller = { ...permitSpender(principal, "inference.run"), requestId: newRequestId() };
  const request = await toChatRequest(input, { stream: true });
  const preferences = toPreferences(input.routing);
  return chatEvents(services.chat, request, tagged(caller, input.tags, request.tags), preferences);
}
