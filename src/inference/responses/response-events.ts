import type { AppError } from "../../kernel/errors.ts";
import type { TokenUsage } from "../billing/pricing.ts";
import type { ShownCost } from "../billing/shown-cost.ts";
import type { Trace } from "../billing/trace.ts";
import type { Metered } from "../billing/usage.ts";
import type { ChatEvents } from "../chat/chat-events.ts";
import { renderChoices } from "../chat/chat-pieces.ts";
import type { Piece } from "../chat/delivered-text.ts";
import type { EventKind, StreamReader } from "../dispatch/stream-options.ts";
import { reasoningTokensOf, responseUsage } from "./response-object.ts";
import type { ResponseStream } from "./response-stream.ts";
import { fieldsOf, type Said, saidBy } from "./said.ts";
import { INTERRUPTED, streamErrorOf } from "./stream-error.ts";

/**
 * Reads the chat stream of one attempt, and shows it as events of a response. The attempts of one request share the
 * `stream`, so that ids and numbers continue when another provider resumes the answer.
 */
export class ResponseEvents implements StreamReader {
  readonly #chat: ChatEvents;
  readonly #stream: ResponseStream;
  readonly #nowSeconds: () => number;
  #reasoningTokens = 0;
  /** What the last event says, read before any of it is shown: an event that cannot be is a failure of its provider. */
  #said: readonly Said[] = [];

  constructor(given: {
    readonly chat: ChatEvents;
    readonly stream: ResponseStream;
    /** Unix time in seconds. */
    readonly nowSeconds: () => number;
  }) {
    this.#chat = given.chat;
    this.#stream = given.stream;
    this.#nowSeconds = given.nowSeconds;
  }

  get usage(): TokenUsage | undefined {
    return this.#chat.usage;
  }

  get answerId(): string | undefined {
    return this.#chat.answerId;
  }

  get finishReason(): string | undefined {
    return this.#chat.finishReason;
  }

  get parts(): readonly Piece[] | undefined {
    return this.#chat.parts;
  }

  get isFinished(): boolean {
    return this.#chat.isFinished;
  }

  read(event: Buffer): EventKind {
    const kind = this.#chat.read(event);
    const { choices, usage } = this.#chat.chunk;
    this.#reasoningTokens = reasoningTokensOf(usage) || this.#reasoningTokens;
    this.#said = firstChoice(choices).map(saidBy);
    return kind;
  }

  accept(): void {
    this.#chat.accept();
  }

  shown(): Buffer {
    return this.#take(this.#said);
  }

  render(texts: readonly string[]): Buffer {
    const { choices } = this.#chat.chunk;
    return this.#take(Array.isArray(choices) ? firstChoice(renderChoices(choices, texts)).map(saidBy) : []);
  }

  meter(countInput: () => Promise<number>): Promise<Metered> {
    return this.#chat.meter(countInput);
  }

  closing(trace: Trace, billed: TokenUsage, failure: AppError | undefined, cost: ShownCost): Buffer {
    return this.#stream.end({
      finishReason: this.#chat.finishReason,
      completedAt: this.#nowSeconds(),
      usage: { ...responseUsage(billed, this.#reasoningTokens), ...cost },
      trace,
      error: failure && streamErrorOf(failure),
    });
  }

  broken(trace: Trace, billed: TokenUsage, cost: ShownCost): Buffer {
    return this.#stream.broken(INTERRUPTED, {
      usage: { ...responseUsage(billed, this.#reasoningTokens), ...cost },
      trace,
    });
  }

  #take(said: readonly Said[]): Buffer {
    return this.#stream.take(said);
  }
}

/** A response has one answer: the choice of index 0, which a chunk may have more than once. */
function firstChoice(choices: unknown): readonly unknown[] {
  if (!Array.isArray(choices)) return [];
  return choices.filter((choice) => (fieldsOf(choice).index ?? 0) === 0);
}
