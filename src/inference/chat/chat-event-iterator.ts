import type { Caller } from "../billing/admitted.ts";
import type { Trace } from "../billing/trace.ts";
import { EventIterator, streamFailure } from "../dispatch/event-iterator.ts";
import { eventData } from "../dispatch/event-scanner.ts";
import type { RoutingPreferences } from "../routing/routing-preferences.ts";
import type { ChatService } from "./chat.service.ts";
import type { ChatRequest } from "./chat-request.ts";
import { shownCalls, shownContent } from "./content-text.ts";

/** A delta of an answer, or its end with the bill. */
export type ChatPiece =
  | {
      readonly kind: "delta";
      /** The index of the choice, where several were requested. */
      readonly index: number;
      readonly text: string | undefined;
      readonly reasoning: string | undefined;
      readonly toolCalls: readonly unknown[] | undefined;
      readonly finishReason: string | undefined;
    }
  | {
      readonly kind: "end";
      readonly inputTokens: number;
      readonly outputTokens: number;
      readonly trace: Trace;
    };

/**
 * Streams a chat as an async iterator; the last item is the bill. An interrupted answer also ends with its bill, and
 * then fails. `request` must enable usage. Ending the iteration aborts the provider, and the delivered part is billed.
 * A slow reader applies backpressure to the provider.
 */
export function chatEvents(
  chat: Pick<ChatService, "stream">,
  request: ChatRequest,
  caller: Caller,
  preferences: RoutingPreferences,
): AsyncIterableIterator<ChatPiece> {
  const iterator = new ChatEventIterator();
  chat.stream(request, caller, iterator, preferences).catch((error: unknown) => iterator.fail(error));
  return iterator;
}

class ChatEventIterator extends EventIterator<ChatPiece> {
  protected override take(event: Buffer): void {
    const data = eventData(event);
    if (!data?.startsWith("{")) return;
    const { choices, usage, error, x_0g_trace: trace } = JSON.parse(data) as Chunk;
    for (const delta of (choices ?? []).map(toDelta)) if (delta) this.push(delta);
    if (trace) {
      const { prompt_tokens: inputTokens = 0, completion_tokens: outputTokens = 0 } = usage ?? {};
      this.push({ kind: "end", inputTokens, outputTokens, trace });
    }
    if (error) this.fail(streamFailure(error));
  }
}

type Choice = {
  readonly index?: number;
  readonly finish_reason?: string | null;
  readonly delta?: {
    readonly content?: unknown;
    readonly refusal?: unknown;
    readonly reasoning_content?: string | null;
    readonly reasoning?: string | null;
    readonly tool_calls?: readonly unknown[] | null;
    readonly function_call?: unknown;
  } | null;
};

type Chunk = {
  readonly choices?: readonly Choice[];
  readonly usage?: { readonly prompt_tokens?: number; readonly completion_tokens?: number } | null;
  readonly error?: { readonly message?: string; readonly code?: string };
  readonly x_0g_trace?: Trace;
};

/** Converts a choice to a delta; undefined for one without content, such as the start of an answer. */
function toDelta({ index = 0, finish_reason, delta }: Choice): ChatPiece | undefined {
  const content = shownContent(delta ?? {});
  const text = content.text || undefined;
  const reasoning = delta?.reasoning_content || delta?.reasoning || content.reasoning || undefined;
  const toolCalls = shownCalls(delta ?? {});
  const finishReason = finish_reason ?? undefined;
  if (text === undefined && reasoning === undefined && toolCalls === undefined && finishReason === undefined)
    return undefined;
  return { kind: "delta", index, text, reasoning, toolCalls, finishReason };
}
