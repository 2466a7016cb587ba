import type { AppError } from "../../kernel/errors.ts";
import { exactJson } from "../../kernel/text/exact-json.ts";
import type { TokenUsage } from "../billing/pricing.ts";
import type { ShownCost } from "../billing/shown-cost.ts";
import type { Trace } from "../billing/trace.ts";
import { type Metered, meterUsage, NOTHING_STATED, type UsageLimits, wholeUsage } from "../billing/usage.ts";
import { withCost } from "../body/cost-edits.ts";
import { type Fields, fieldsOf } from "../body/fields.ts";
import { withoutTrace } from "../body/trace-edits.ts";
import { addBlock, hasBlockText } from "../chat/answer-text.ts";
import type { Piece } from "../chat/delivered-text.ts";
import type { TextMeter } from "../chat/text-meter.ts";
import { emptyAnswer } from "../chat/whole-answer.ts";
import { namedFailure } from "../dispatch/event-failure.ts";
import { eventData } from "../dispatch/event-scanner.ts";
import type { EventKind, StreamReader } from "../dispatch/stream-options.ts";
import { statedFailure } from "../providers/exchange/provider-answer.ts";
import { readFinishReason } from "../requests/finish-reason.ts";
import { messagePieces, renderEvent } from "./message-pieces.ts";
import {
  isMessageCacheShown,
  messageUsage,
  readInputUsage,
  readOutputUsage,
  withBilledCache,
} from "./messages-usage.ts";

const BROKEN = {
  type: "error",
  error: { type: "api_error", message: "The provider's response was interrupted.", code: "upstream_error" },
};
/** A type that can be the name of an event. */
const TYPE = /^\w{1,100}$/;
const STOP = 'event: message_stop\ndata: {"type":"message_stop"}\n\n';

/**
 * Reads an Anthropic message stream. Its events are relayed unchanged, except for the final `message_delta` and
 * `message_stop`: they are withheld until the bill is committed, because the usage of the first shows the cost.
 */
export class MessageEvents implements StreamReader {
  readonly #limits: UsageLimits;
  readonly #model: string | undefined;
  readonly #providerUrl: string | undefined;
  readonly #text: TextMeter;
  #stated = NOTHING_STATED;
  #finished = false;
  /** The event with the stop reason, and its data if its usage is the billed one. */
  #last: { readonly event: Fields; readonly data: string | undefined } | undefined;
  /** The event that was read last, and whether a bill was removed from it. */
  #event: Fields = {};
  #isForged = false;

  constructor({
    limits,
    model,
    providerUrl,
    text,
  }: {
    readonly limits: UsageLimits;
    /** The model as the client named it, if the provider's name differs. */
    readonly model?: string | undefined;
    /** The provider's URL, which clients do not see. */
    readonly providerUrl?: string | undefined;
    readonly text: TextMeter;
  }) {
    this.#limits = limits;
    this.#model = model;
    this.#providerUrl = providerUrl;
    this.#text = text;
  }

  get usage(): TokenUsage | undefined {
    return wholeUsage(this.#stated);
  }

  get finishReason(): string | undefined {
    return readFinishReason(fieldsOf(this.#last?.event.delta).stop_reason);
  }

  get parts(): readonly Piece[] | undefined {
    return messagePieces(this.#event);
  }

  get isFinished(): boolean {
    return this.#finished;
  }

  read(event: Buffer): EventKind {
    const data = eventData(event);
    this.#event = {};
    const failure = namedFailure(event, data, this.#providerUrl);
    if (failure) throw failure;
    if (data === undefined || data === "") return "withheld";
    const stated = parse(data);
    const fields = withoutTrace(stated, "message");
    this.#event = fields;
    this.#isForged = fields !== stated;
    switch (fields.type) {
      case "message_start":
        this.#takeUsage(fieldsOf(fields.message).usage, undefined);
        return "preamble";
      case "content_block_start":
        return hasBlockText(fields.content_block) ? "content" : "preamble";
      case "content_block_delta":
        return hasBlockText(fields.delta) ? "content" : "preamble";
      case "message_delta":
        return this.#end(fields, this.#isForged ? JSON.stringify(fields) : data);
      case "message_stop":
        return "end";
      case "error":
        throw statedFailure(fields.error, this.#providerUrl);
      default:
        return typeof fields.type === "string" && TYPE.test(fields.type) ? "preamble" : "withheld";
    }
  }

  /** Usage is in events of its own, which are not refused once they are read. */
  accept(): void {
    const { type, content_block: block, delta, index } = this.#event;
    if (type === "content_block_start") addBlock(this.#text, block, index);
    else if (type === "content_block_delta") addBlock(this.#text, delta, index);
  }

  shown(event: Buffer): Buffer {
    const { type } = this.#event;
    if (type !== "message_start" && type !== "message_delta")
      return this.#isForged ? Buffer.from(eventOf(type, this.#event)) : event;
    const isStart = type === "message_start";
    const stated = isStart ? fieldsOf(this.#event.message) : this.#event;
    const isRenamed = isStart && this.#model !== undefined;
    const isTrue = isMessageCacheShown(stated.usage, this.#stated.input);
    if (isTrue && !isRenamed && !this.#isForged) return event;
    const changed = {
      ...stated,
      ...(isRenamed && { model: this.#model }),
      ...(!isTrue && { usage: withBilledCache(fieldsOf(stated.usage), this.#stated.input) }),
    };
    const shown = isStart ? { ...this.#event, message: changed } : changed;
    return Buffer.from(eventOf(type, shown));
  }

  render([text = ""]: readonly string[]): Buffer {
    const { type } = this.#event;
    return Buffer.from(eventOf(type, renderEvent(this.#event, text)));
  }

  meter(countInput: () => Promise<number>): Promise<Metered> {
    const count = { input: countInput, uncounted: () => this.#text.count() };
    return meterUsage(this.#stated, count, this.#limits);
  }

  closing(trace: Trace, billed: TokenUsage, failure: AppError | undefined, cost: ShownCost): Buffer {
    const end = this.#last ? `event: message_delta\ndata: ${this.#shownEnd(billed, cost)}\n\n` : "";
    return Buffer.from(
      `${end}: x_0g_trace ${JSON.stringify(trace)}\n\n${failure ? errorEvent(failure) : STOP}`,
    );
  }

  broken(trace: Trace, billed: TokenUsage, cost: ShownCost): Buffer {
    const usage = { ...messageUsage(billed), ...cost };
    const event = { ...BROKEN, usage, x_0g_trace: trace };
    return Buffer.from(`event: error\ndata: ${exactJson(event)}\n\n`);
  }

  /** The final `message_delta`: the provider's own if its usage is the billed one, otherwise corrected; with the cost. */
  #shownEnd(billed: TokenUsage, cost: ShownCost): string {
    const { event, data } = this.#last ?? {};
    const own = data === undefined ? undefined : withCost(data, cost);
    if (own !== undefined) return own.replaceAll("\n", "\ndata: ");
    return exactJson({ ...event, usage: { ...messageUsage(billed), ...cost } });
  }

  /** Reads the stop reason and the usage so far; some providers report the input here as well. */
  #end(event: Fields, data: string): EventKind {
    const { delta, usage } = event;
    const outputTokens = readOutputUsage(usage, this.#limits.maxOutputTokens);
    const isInputTaken = this.#takeUsage(usage, outputTokens);
    const { stop_reason: reason } = fieldsOf(delta);
    if (typeof reason !== "string") return this.#takeLateUsage();
    this.#finished = true;
    const showsInput = typeof fieldsOf(usage).input_tokens === "number";
    const isInputTrue = isInputTaken || !showsInput;
    const isCacheTrue = isMessageCacheShown(usage, this.#stated.input);
    const isTrue = this.usage !== undefined && outputTokens !== undefined && isInputTrue && isCacheTrue;
    this.#last = { event, data: isTrue ? data : undefined };
    return "withheld";
  }

  /** Usage after the stop reason is shown with that, as it is billed. */
  #takeLateUsage(): EventKind {
    if (!this.#last) return "preamble";
    this.#last = { ...this.#last, data: undefined };
    return "withheld";
  }

  /** Stores reported usage; text already covered by it is not counted. Returns whether the reported input is valid. */
  #takeUsage(usage: unknown, outputTokens: number | undefined): boolean {
    if (outputTokens !== undefined) this.#text.clear();
    const input = readInputUsage(usage, this.#limits.maxInputTokens);
    this.#stated = {
      input: input ?? this.#stated.input,
      outputTokens: outputTokens ?? this.#stated.outputTokens,
    };
    return input !== undefined;
  }
}

function parse(data: string): Fields {
  let fields: unknown;
  try {
    fields = JSON.parse(data);
  } catch (cause) {
    throw emptyAnswer("The provider's stream is broken.", cause);
  }
  if (typeof fields !== "object" || fields === null || Array.isArray(fields))
    throw emptyAnswer("The provider's stream is broken.");
  return fields as Fields;
}

function eventOf(type: unknown, fields: object): string {
  return `event: ${type}\ndata: ${JSON.stringify(fields)}\n\n`;
}

function errorEvent({ message, code }: AppError): string {
  const error = { type: "api_error", message, code };
  return `event: error\ndata: ${JSON.stringify({ type: "error", error })}\n\n`;
}
