import { type AppError, FAILURES } from "../../kernel/errors.ts";
import { exactJson } from "../../kernel/text/exact-json.ts";
import type { TokenUsage } from "../billing/pricing.ts";
import type { ShownCost } from "../billing/shown-cost.ts";
import type { Trace } from "../billing/trace.ts";
import {
  chatUsage,
  isAsBilled,
  type Metered,
  meterUsage,
  NOTHING_STATED,
  readUsage,
  type StatedUsage,
  type UsageLimits,
  wholeUsage,
} from "../billing/usage.ts";
import { withCost } from "../body/cost-edits.ts";
import { hasTrace } from "../body/trace-edits.ts";
import { namedFailure } from "../dispatch/event-failure.ts";
import { eventData } from "../dispatch/event-scanner.ts";
import type { EventKind, StreamReader } from "../dispatch/stream-options.ts";
import { statedFailure } from "../providers/exchange/provider-answer.ts";
import { ProviderFailure } from "../providers/exchange/provider-failure.ts";
import { readFinishReason } from "../requests/finish-reason.ts";
import { addChoice, carriesContent } from "./answer-text.ts";
import { chunkPieces, renderChoices } from "./chat-pieces.ts";
import type { Piece } from "./delivered-text.ts";
import { lacksReasoningContent, withReasoningContent } from "./reasoning.ts";
import type { TextMeter } from "./text-meter.ts";
import { answerIdOf } from "./whole-answer.ts";

const BROKEN = {
  error: {
    message: "The provider's response was interrupted.",
    type: "api_error",
    code: "upstream_error",
    param: null,
  },
};

type Chunk = {
  readonly id?: unknown;
  readonly created?: unknown;
  readonly model?: unknown;
  readonly choices?: unknown;
  readonly usage?: unknown;
  readonly error?: unknown;
  readonly x_0g_trace?: unknown;
};

/**
 * Reads an OpenAI chat stream. Every event must be complete JSON. The usage chunk is withheld, because the router
 * decides whether to show it; so is `[DONE]`, and an object that is no chunk, which clients would read as one.
 */
export class ChatEvents implements StreamReader {
  readonly #wantsUsage: boolean;
  readonly #limits: UsageLimits;
  readonly #choices: number;
  readonly #model: string | undefined;
  readonly #object: string;
  readonly #part: "delta" | "text";
  readonly #text: TextMeter;
  readonly #seen = new Set<unknown>();
  readonly #providerUrl: string | undefined;
  /** The choices that have content. */
  readonly #answered = new Set<unknown>();
  readonly #finished = new Set<unknown>();
  /** The last valid reported usage of each side. */
  #stated = NOTHING_STATED;
  /** The usage that the last event reports. */
  #newUsage: StatedUsage | undefined;
  /** The last reported usage, what it states, and the data of its chunk if the client may receive it as it is. */
  #reported:
    | { readonly usage: unknown; readonly states: TokenUsage | undefined; readonly data: string | undefined }
    | undefined;
  /** That of the choice of index 0, or of another one until it has ended. */
  #finishReason: unknown;
  #last: Chunk = {};
  #chunk: Chunk = {};

  constructor(given: {
    readonly wantsUsage: boolean;
    readonly limits: UsageLimits;
    /** Number of requested choices: the answer is complete when each of them has ended. */
    readonly choices: number;
    /** The model as the client named it, if the provider's name differs. */
    readonly model?: string | undefined;
    /** The provider's URL, which clients do not see. */
    readonly providerUrl?: string | undefined;
    /** The member `object` of a chunk. */
    readonly object?: string;
    /** The member of a choice with its part of the answer. */
    readonly part?: "delta" | "text";
    readonly text: TextMeter;
  }) {
    this.#object = given.object ?? "chat.completion.chunk";
    this.#part = given.part ?? "delta";
    this.#wantsUsage = given.wantsUsage;
    this.#text = given.text;
    this.#limits = given.limits;
    this.#choices = given.choices;
    this.#model = given.model;
    this.#providerUrl = given.providerUrl;
  }

  get usage(): TokenUsage | undefined {
    return wholeUsage(this.#stated);
  }

  get answerId(): string | undefined {
    return answerIdOf(this.#last);
  }

  get finishReason(): string | undefined {
    return readFinishReason(this.#finishReason);
  }

  /** The chunk that was read last; empty after another event. */
  get chunk(): Chunk {
    return this.#chunk;
  }

  get parts(): readonly Piece[] | undefined {
    return chunkPieces(choicesOf(this.#chunk));
  }

  /**
   * Whether the requested choices, or as many with other indexes, have ended. Extra choices are forwarded but not
   * awaited.
   */
  get isFinished(): boolean {
    if (this.#finished.size < this.#choices) return false;
    if (this.#finished.size === this.#seen.size) return true;
    for (let index = 0; index < this.#choices; index++) if (!this.#finished.has(index)) return false;
    return true;
  }

  read(event: Buffer): EventKind {
    const data = eventData(event);
    this.#chunk = {};
    this.#newUsage = undefined;
    const failure = namedFailure(event, data, this.#providerUrl);
    if (failure) throw failure;
    if (data === undefined || data === "") return "withheld";
    if (data === "[DONE]") return this.#end();
    const chunk = parse(data);
    if (chunk.error !== undefined && chunk.error !== null)
      throw statedFailure(chunk.error, this.#providerUrl);
    if (!isChunk(chunk)) return "withheld";
    this.#chunk = chunk;
    const choices = choicesOf(chunk);
    if (choices.length > 0) this.#last = chunk;
    let kind: EventKind = "preamble";
    for (const choice of choices) if (this.#takeChoice(choice)) kind = "content";
    if (chunk.usage === undefined || chunk.usage === null) return kind;
    this.#newUsage = readUsage(chunk.usage, this.#limits);
    // Clients read the list of choices also where it is empty.
    const hasNone = Array.isArray(chunk.choices) && choices.length === 0;
    const isAsShown = hasNone && this.#model === undefined && !hasTrace(chunk);
    const states = wholeUsage(this.#newUsage);
    this.#reported = { usage: chunk.usage, states, data: isAsShown ? data : undefined };
    return choices.length > 0 ? kind : "withheld";
  }

  /** Usage may be reported repeatedly: only the part of the answer after the last report is counted. */
  accept(): void {
    for (const choice of choicesOf(this.#chunk)) addChoice(this.#text, choice);
    if (!this.#newUsage) return;
    const { input, outputTokens } = this.#newUsage;
    if (outputTokens !== undefined) this.#text.clear();
    const answered = outputTokens === undefined ? this.#stated : this.#newUsage;
    this.#stated = { ...answered, input: input ?? this.#stated.input };
  }

  /**
   * The event with the client's name of the model and `reasoning_content`, and without usage or a bill: some providers
   * report usage on every chunk, while the client gets a single chunk with the billed usage, if it requested one.
   */
  shown(event: Buffer): Buffer {
    const { usage, choices, model } = this.#chunk;
    const hasUsage = usage !== undefined && usage !== null;
    const isRenamed = this.#model !== undefined && model !== this.#model;
    const isEdited = hasUsage || isRenamed || hasTrace(this.#chunk);
    const isAsShown = !isEdited && !choicesOf({ choices }).some(lacksReasoningContent);
    return isAsShown ? event : this.#toEvent(this.#chunk);
  }

  render(texts: readonly string[]): Buffer {
    return this.#toEvent({ ...this.#chunk, choices: renderChoices(choicesOf(this.#chunk), texts) });
  }

  meter(countInput: () => Promise<number>): Promise<Metered> {
    const count = { input: countInput, uncounted: () => this.#text.count() };
    return meterUsage(this.#stated, count, this.#limits);
  }

  closing(trace: Trace, billed: TokenUsage, failure: AppError | undefined, cost: ShownCost): Buffer {
    const trailer = this.#wantsUsage
      ? `data: ${this.#shownUsage(trace, billed, cost)}\n\n`
      : // No blank line behind it: see the keep-alive comments of `event-sink.ts`.
        `: x_0g_trace ${JSON.stringify(trace)}\n`;
    const end = failure ? JSON.stringify(errorOf(failure)) : "[DONE]";
    return Buffer.from(`${trailer}data: ${end}\n\n`);
  }

  broken(trace: Trace, billed: TokenUsage, cost: ShownCost): Buffer {
    const usage = { ...chatUsage(billed), ...cost };
    return Buffer.from(`data: ${exactJson({ ...BROKEN, usage, x_0g_trace: trace })}\n\n`);
  }

  /**
   * The provider's own usage chunk if it states the billed usage, otherwise one of the router's, which has the provider's
   * usage in the same case, with all of its details; with the cost.
   */
  #shownUsage(trace: Trace, billed: TokenUsage, cost: ShownCost): string {
    const shown = JSON.stringify({ x_0g_trace: trace });
    const { data, usage, states } = this.#reported ?? {};
    const isTrue =
      states?.inputTokens === billed.inputTokens &&
      states.outputTokens === billed.outputTokens &&
      isAsBilled(usage, billed);
    const { id, created, model = this.#model } = this.#named(this.#last);
    const head = { id, object: this.#object, created, model, choices: [] };
    const own = isTrue ? withCost(data ?? JSON.stringify({ ...head, usage }), cost) : undefined;
    if (own === undefined)
      return exactJson({ ...head, usage: { ...chatUsage(billed), ...cost }, x_0g_trace: trace });
    return `${own.slice(0, own.lastIndexOf("}"))},${shown.slice(1)}`.replaceAll("\n", "\ndata: ");
  }

  #toEvent({ usage: _usage, x_0g_trace: _trace, ...chunk }: Chunk): Buffer {
    const shown = { ...this.#named(chunk), choices: choicesOf(chunk).map(withReasoningContent) };
    return Buffer.from(`data: ${JSON.stringify(shown)}\n\n`);
  }

  #named(chunk: Chunk): Chunk {
    return this.#model === undefined ? chunk : { ...chunk, model: this.#model };
  }

  /** A provider states finish reasons either for every requested choice, or for none, of which each has content then. */
  #end(): EventKind {
    const isWhole = this.#finished.size > 0 ? this.isFinished : this.#answered.size >= this.#choices;
    if (!isWhole) throw broken();
    return "end";
  }

  /** Whether a choice carries content, which must be where clients of this format read it. */
  #takeChoice(choice: unknown): boolean {
    if (typeof choice !== "object" || choice === null) throw broken();
    const { index = 0, finish_reason: reason } = choice as { index?: unknown; finish_reason?: unknown };
    this.#seen.add(index);
    if (typeof reason === "string" && reason !== "") {
      this.#finished.add(index);
      if (index === 0 || this.#finishReason === undefined) this.#finishReason = reason;
    }
    if (!carriesContent(choice)) return false;
    if (!(this.#part in choice)) throw broken();
    this.#answered.add(index);
    return true;
  }
}

function errorOf({ message, code, param }: AppError): object {
  return { error: { message, type: FAILURES[code].type, code, param } };
}

function choicesOf({ choices }: Chunk): readonly unknown[] {
  return Array.isArray(choices) ? choices : [];
}

/** Whether an object is a chunk: one with choices, even none, or with usage. */
function isChunk({ choices, usage }: Chunk): boolean {
  return Array.isArray(choices) || (usage !== undefined && usage !== null);
}

function parse(data: string): Chunk {
  let chunk: unknown;
  try {
    chunk = JSON.parse(data);
  } catch (cause) {
    throw broken(cause);
  }
  if (typeof chunk !== "object" || chunk === null || Array.isArray(chunk)) throw broken();
  return chunk;
}

function broken(cause?: unknown): ProviderFailure {
  return new ProviderFailure("malformed", { message: "The provider's stream is broken.", cause });
}
