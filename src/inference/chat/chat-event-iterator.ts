import { AppError } from "../../kernel/errors.ts";
import type { Caller, Trace } from "../billing/admitted.ts";
import { EventScanner, eventData } from "../dispatch/event-scanner.ts";
import type { StreamSink } from "../dispatch/stream-options.ts";
import type { RoutingPreferences } from "../routing/routing-preferences.ts";
import type { ChatService } from "./chat.service.ts";
import type { ChatRequest } from "./chat-request.ts";

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

const MAX_WAITING = 64;

/**
 * Streams a chat as an async iterator; the last item is the bill. `request` must enable usage. Ending the iteration
 * aborts the provider, and the delivered part is billed. A slow reader applies backpressure to the provider.
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

class ChatEventIterator implements StreamSink, AsyncIterableIterator<ChatPiece> {
  readonly #scanner = new EventScanner();
  readonly #pieces: ChatPiece[] = [];
  readonly #readers: PromiseWithResolvers<IteratorResult<ChatPiece>>[] = [];
  readonly #onClose: (() => void)[] = [];
  readonly #onDrain: (() => void)[] = [];
  #isFull = false;
  #isOver = false;
  #isClosed = false;
  #failure: { readonly reason: unknown } | undefined;

  start(): void {}

  write(bytes: Buffer): boolean {
    for (const event of this.#scanner.push(bytes)) this.#take(event);
    this.#isFull = this.#pieces.length >= MAX_WAITING;
    return !this.#isFull;
  }

  end(): void {
    this.#finish();
  }

  fail(reason: unknown): void {
    if (this.#isOver) return;
    this.#failure = { reason };
    this.#finish();
  }

  isClosed(): boolean {
    return this.#isClosed;
  }

  onDrain(listener: () => void): void {
    this.#onDrain.push(listener);
  }

  onClose(listener: () => void): void {
    this.#onClose.push(listener);
  }

  async next(): Promise<IteratorResult<ChatPiece>> {
    const piece = this.#pieces.shift();
    if (piece) {
      if (this.#isFull && this.#pieces.length === 0) this.#drained();
      return { done: false, value: piece };
    }
    if (!this.#isOver) {
      const reader = Promise.withResolvers<IteratorResult<ChatPiece>>();
      this.#readers.push(reader);
      return reader.promise;
    }
    const failure = this.#failure;
    this.#failure = undefined;
    if (failure) throw failure.reason;
    return OVER;
  }

  async return(): Promise<IteratorResult<ChatPiece>> {
    const wasOver = this.#isOver;
    this.#pieces.length = 0;
    this.#failure = undefined;
    this.#isClosed = true;
    this.#finish();
    if (!wasOver) for (const listener of this.#onClose) listener();
    return OVER;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #take(event: Buffer): void {
    const data = eventData(event);
    if (!data?.startsWith("{")) return;
    const { choices, usage, error, x_0g_trace: trace } = JSON.parse(data) as Chunk;
    if (error)
      this.fail(new AppError("provider_error", error.message ?? "The provider's response was interrupted."));
    for (const choice of choices ?? []) this.#push(toDelta(choice));
    if (!trace) return;
    const { prompt_tokens: inputTokens = 0, completion_tokens: outputTokens = 0 } = usage ?? {};
    this.#push({ kind: "end", inputTokens, outputTokens, trace });
  }

  #push(piece: ChatPiece | undefined): void {
    if (!piece || this.#isOver) return;
    const reader = this.#readers.shift();
    if (reader) reader.resolve({ done: false, value: piece });
    else this.#pieces.push(piece);
  }

  #finish(): void {
    this.#isOver = true;
    const [reader] = this.#readers;
    if (reader && this.#failure) {
      reader.reject(this.#failure.reason);
      this.#failure = undefined;
      this.#readers.shift();
    }
    for (const waiting of this.#readers.splice(0)) waiting.resolve(OVER);
  }

  #drained(): void {
    this.#isFull = false;
    for (const listener of this.#onDrain) listener();
  }
}

const OVER = { done: true, value: undefined } as const;

type Choice = {
  readonly index?: number;
  readonly finish_reason?: string | null;
  readonly delta?: {
    readonly content?: string | null;
    readonly reasoning_content?: string | null;
    readonly reasoning?: string | null;
    readonly tool_calls?: readonly unknown[] | null;
  } | null;
};

type Chunk = {
  readonly choices?: readonly Choice[];
  readonly usage?: { readonly prompt_tokens?: number; readonly completion_tokens?: number } | null;
  readonly error?: { readonly message?: string };
  readonly x_0g_trace?: Trace;
};

/** Converts a choice to a delta; undefined for one without content, such as the start of an answer. */
function toDelta({ index = 0, finish_reason, delta }: Choice): ChatPiece | undefined {
  const text = delta?.content || undefined;
  const reasoning = delta?.reasoning_content || delta?.reasoning || undefined;
  const toolCalls = delta?.tool_calls ?? undefined;
  const finishReason = finish_reason ?? undefined;
  if (text === undefined && reasoning === undefined && toolCalls === undefined && finishReason === undefined)
    return undefined;
  return { kind: "delta", index, text, reasoning, toolCalls, finishReason };
}
