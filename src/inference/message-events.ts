import type { Trace } from "./admitted.ts";
import { blockText } from "./answer-text.ts";
import { eventData } from "./event-scanner.ts";
import { messagePieces, retoldEvent } from "./message-pieces.ts";
import { type MessagesInput, readInputUsage, readOutputUsage } from "./messages-usage.ts";
import type { TokenUsage } from "./pricing.ts";
import { statedFailure } from "./provider-answer.ts";
import type { EventKind, StreamReader } from "./stream-terms.ts";
import type { TextMeter } from "./text-meter.ts";
import type { Piece } from "./transcript.ts";
import { noAnswer } from "./whole-answer.ts";

const BROKEN = {
  type: "error",
  error: { type: "api_error", message: "The provider broke off." },
};
const STOP = 'event: message_stop\ndata: {"type":"message_stop"}\n\n';

type Fields = Readonly<Record<string, unknown>>;

/**
 * Reads Anthropic's stream of a message. Its events are passed on as they are, the usage with them, and `message_stop`
 * is kept back until the bill is committed.
 */
export class MessageEvents implements StreamReader {
  readonly #maxTokens: number;
  readonly #model: string | undefined;
  readonly #text: TextMeter;
  #input: MessagesInput | undefined;
  #outputTokens: number | undefined;
  #finished = false;
  /** What was read last. */
  #event: Fields = {};

  constructor({
    maxTokens,
    model,
    text,
  }: {
    readonly maxTokens: number;
    /** The model as the client named it, where the provider calls it otherwise. */
    readonly model?: string | undefined;
    readonly text: TextMeter;
  }) {
    this.#maxTokens = maxTokens;
    this.#model = model;
    this.#text = text;
  }

  get usage(): TokenUsage | undefined {
    if (this.#input === undefined || this.#outputTokens === undefined) return undefined;
    return { ...this.#input, outputTokens: this.#outputTokens };
  }

  get said(): readonly Piece[] | undefined {
    return messagePieces(this.#event);
  }

  get isFinished(): boolean {
    return this.#finished;
  }

  read(event: Buffer): EventKind {
    const data = eventData(event);
    this.#event = {};
    if (data === undefined || data === "") return "comment";
    const fields = parse(data);
    this.#event = fields;
    switch (fields.type) {
      case "message_start":
        this.#input = readInputUsage(objectOf(fields.message).usage);
        return "preamble";
      case "content_block_start":
        return this.#take(fields.content_block) ? "content" : "preamble";
      case "content_block_delta":
        return this.#take(fields.delta) ? "content" : "preamble";
      case "message_delta":
        return this.#end(fields);
      case "message_stop":
        return "end";
      case "error":
        throw statedFailure(fields.error);
      default:
        return "preamble";
    }
  }

  shown(event: Buffer): Buffer {
    const { type, message } = this.#event;
    if (type !== "message_start" || this.#model === undefined) return event;
    const shown = { ...this.#event, message: { ...objectOf(message), model: this.#model } };
    return Buffer.from(`event: message_start\ndata: ${JSON.stringify(shown)}\n\n`);
  }

  retell([text = ""]: readonly string[]): Buffer {
    const { type } = this.#event;
    return Buffer.from(`event: ${type}\ndata: ${JSON.stringify(retoldEvent(this.#event, text))}\n\n`);
  }

  countTokens(): Promise<number> {
    return this.#text.count();
  }

  closing(trace: Trace): Buffer {
    return Buffer.from(`: x_0g_trace ${JSON.stringify(trace)}\n\n${STOP}`);
  }

  broken(): Buffer {
    return Buffer.from(`event: error\ndata: ${JSON.stringify(BROKEN)}\n\n`);
  }

  /** The reason to stop, and what was used by then; some providers state the input here as well. */
  #end({ delta, usage }: Fields): EventKind {
    const stated = readOutputUsage(usage, this.#maxTokens);
    if (stated !== undefined) this.#outputTokens = stated;
    this.#input = readInputUsage(usage) ?? this.#input;
    const { stop_reason: reason } = objectOf(delta);
    if (typeof reason !== "string") return "preamble";
    this.#finished = true;
    return "content";
  }

  #take(block: unknown): boolean {
    const text = blockText(block);
    this.#text.add(text);
    return text !== "";
  }
}

function parse(data: string): Fields {
  let fields: unknown;
  try {
    fields = JSON.parse(data);
  } catch (cause) {
    throw noAnswer("The provider's stream is broken.", cause);
  }
  if (typeof fields !== "object" || fields === null || Array.isArray(fields))
    throw noAnswer("The provider's stream is broken.");
  return fields as Fields;
}

function objectOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}
