import "../../shared/schema/reflect.ts";
import { Arg, Ctx, Mutation, Resolver } from "type-graphql";
import type { Trace } from "../../../src/inference/billing/trace.ts";
import { shownCalls, shownContent } from "../../../src/inference/chat/content-text.ts";
import { newRequestId } from "../../../src/kernel/text/ids.ts";
import { permitSpender } from "../../../src/keys/auth/permissions.ts";
import { cacheRequestOf } from "../../shared/cache.ts";
import type { Context } from "../../shared/context.ts";
import { runOnce } from "../../shared/once.ts";
import { answerMutation } from "../../shared/user-errors.ts";
import { toPreferences } from "../routing/routing-input.type.ts";
import { tagged } from "../tagged.ts";
import {
  type ChatCompletionType,
  CompleteChatInput,
  CompleteChatPayload,
  toBill,
  toChatRequest,
} from "./chat.type.ts";

/** Chat completions without streaming. */
@Resolver()
export class ChatResolver {
  @Mutation(() => CompleteChatPayload, {
    nullable: true,
    description:
      "Creates a chat completion. Billed even if the client disconnects before the response. The subscription " +
      "`completeChat` delivers it in pieces. Requires an `sk-` key.",
  })
  async completeChat(
    @Arg("input", () => CompleteChatInput, { description: "The chat completion request." })
    { idempotencyKey: key, cacheSeconds, ...input }: CompleteChatInput,
    @Ctx() context: Context,
  ): Promise<CompleteChatPayload> {
    const { services, principal } = context;
    const caller = { ...permitSpender(principal, "inference.run"), requestId: newRequestId() };
    const { signal } = new AbortController();
    return answerMutation(input, async () => {
      const body = await runOnce(
        context,
        { ...caller, field: "completeChat", key, input, isBilled: true },
        async () => {
          const request = await toChatRequest(input, { stream: false });
          const cacheable = { ...caller, field: "completeChat", input, cacheSeconds };
          const cached = { ...caller, cache: await cacheRequestOf(context, cacheable) };
          const payer = tagged(cached, input.tags, request.tags);
          return (await services.chat.complete(request, payer, signal, toPreferences(input.routing))).body;
        },
      );
      return { completion: toCompletion(JSON.parse(body.toString("utf8")) as Answer) };
    });
  }
}

type Answer = {
  readonly choices: readonly {
    readonly index?: number;
    readonly finish_reason?: string | null;
    readonly message: {
      readonly content?: unknown;
      readonly refusal?: unknown;
      readonly reasoning_content?: string | null;
      readonly tool_calls?: readonly unknown[] | null;
      readonly function_call?: unknown;
    };
  }[];
  readonly usage?: { readonly prompt_tokens?: number; readonly completion_tokens?: number } | null;
  readonly x_0g_trace: Trace;
};

function toCompletion({ choices, usage, x_0g_trace: trace }: Answer): ChatCompletionType {
  return {
    choices: choices.map(({ index, finish_reason, message }, at) => {
      const content = shownContent(message);
      return {
        index: index ?? at,
        text: content.text,
        reasoning: message.reasoning_content ?? (content.reasoning || null),
        toolCalls: shownCalls(message) ?? null,
        finishReason: finish_reason ?? null,
      };
    }),
    inputTokens: usage?.prompt_tokens ?? null,
    outputTokens: usage?.completion_tokens ?? null,
    bill: toBill(trace),
  };
}
