import "../../shared/schema/reflect.ts";
import { Arg, Ctx, Mutation, Resolver } from "type-graphql";
import type { Trace } from "../../../src/inference/billing/admitted.ts";
import { newRequestId } from "../../../src/kernel/text/ids.ts";
import { permitSpender } from "../../../src/keys/auth/permissions.ts";
import type { Context } from "../../shared/context.ts";
import { IDEMPOTENCY_KEY, runOnce } from "../../shared/once.ts";
import { toPreferences } from "../routing/routing.type.ts";
import { ChatCompletionType, ChatInput, toBill, toChatRequest } from "./chat.type.ts";

/** Chat completions without streaming. */
@Resolver()
export class ChatResolver {
  @Mutation(() => ChatCompletionType, {
    nullable: true,
    description:
      "Creates a chat completion. Billed even if the client disconnects before the response. Requires an `sk-` key.",
  })
  async completeChat(
    @Arg("input", () => ChatInput, { description: "The chat completion request." }) input: ChatInput,
    @Arg("idempotencyKey", () => String, { nullable: true, description: IDEMPOTENCY_KEY })
    key: string | null,
    @Ctx() context: Context,
  ): Promise<ChatCompletionType> {
    const { services, principal } = context;
    const caller = { ...permitSpender(principal, "inference.run"), requestId: newRequestId() };
    const { signal } = new AbortController();
    const body = await runOnce(context, { ...caller, field: "completeChat", key, input }, async () => {
      const request = await toChatRequest(input, { stream: false });
      return (await services.chat.complete(request, caller, signal, toPreferences(input.routing))).body;
    });
    return toCompletion(JSON.parse(body.toString("utf8")) as Answer);
  }
}

type Answer = {
  readonly choices: readonly {
    readonly index?: number;
    readonly finish_reason?: string | null;
    readonly message: {
      readonly content?: unknown;
      readonly reasoning_content?: string | null;
      readonly tool_calls?: readonly unknown[] | null;
    };
  }[];
  readonly usage?: { readonly prompt_tokens?: number; readonly completion_tokens?: number } | null;
  readonly x_0g_trace: Trace;
};

function toCompletion({ choices, usage, x_0g_trace: trace }: Answer): ChatCompletionType {
  return {
    choices: choices.map(({ index, finish_reason, message }, at) => ({
      index: index ?? at,
      text: typeof message.content === "string" ? message.content : null,
      reasoning: message.reasoning_content ?? null,
      toolCalls: message.tool_calls ?? null,
      finishReason: finish_reason ?? null,
    })),
    inputTokens: usage?.prompt_tokens ?? null,
    outputTokens: usage?.completion_tokens ?? null,
    bill: toBill(trace),
  };
}
