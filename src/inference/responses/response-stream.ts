import type { Trace } from "../billing/trace.ts";
import { ProviderFailure } from "../providers/exchange/provider-failure.ts";
import { maxLengthOf, type OutputEvent, OutputItems } from "./output-items.ts";
import { outputOptions } from "./response-answer.ts";
import {
  endFailureOf,
  incompleteReasonOf,
  type ResponseHead,
  type ResponseState,
  responseJson,
} from "./response-object.ts";
import type { Said } from "./said.ts";
import { errorMembers, type StreamError } from "./stream-error.ts";

/** The last events repeat the whole answer four times, so it is limited: to about 250,000 tokens. */
const MAX_LENGTH = 1_048_576;
const NOTHING = Buffer.alloc(0);
/** The last event of a stream, which the Open Responses specification requires. */
export const DONE = "data: [DONE]\n\n";

/** How a stream ended. */
export type StreamEnd = {
  readonly finishReason: unknown;
  readonly completedAt: number;
  readonly usage: object;
  readonly trace: Trace;
  /** A failure that takes the place of the regular end. */
  readonly error?: StreamError | undefined;
};

/**
 * The events of one streamed response, over all attempts. The first ones are written with the first content, since
 * nothing is written before it. Source: OpenAI's types of events, and the Open Responses specification.
 */
export class ResponseStream {
  #head: ResponseHead;
  readonly #items: OutputItems;
  #sequence = 0;

  constructor(head: ResponseHead) {
    this.#head = head;
    this.#items = new OutputItems(outputOptions(head));
  }

  /** Names the model of the next attempt: another one than the requested, if that fails before it answers. */
  answeredBy(model: string): void {
    this.#head = { ...this.#head, model };
  }

  /**
   * The events of what a chunk says, empty if it says nothing. Throws a `ProviderFailure` for an endless answer, of which
   * the last events then repeat no more than was delivered.
   */
  take(parts: readonly Said[]): Buffer {
    const added = parts.reduce((sum, said) => sum + maxLengthOf(said), 0);
    if (this.#items.length + added > MAX_LENGTH)
      throw new ProviderFailure("malformed", { message: "The provider's answer is too long." });
    const events = parts.flatMap((said) => this.#items.take(said));
    if (events.length === 0) return NOTHING;
    const writer = this.#writer();
    for (const event of events) writer.add(event);
    this.#sequence = writer.sequence;
    return writer.bytes();
  }

  /** The last events. Has no side effects: they may be written again with another bill. */
  end({ finishReason, completedAt, usage, trace, error: given }: StreamEnd): Buffer {
    const incompleteReason = incompleteReasonOf(finishReason);
    const failure = endFailureOf(finishReason);
    const isCut = incompleteReason !== undefined || failure !== undefined;
    const error = given ?? failure;
    const writer = this.#writer();
    for (const event of this.#items.endings(isCut)) writer.add(event);
    const output = this.#items.shown(isCut);
    if (error) writer.fail(error, { output, usage, trace });
    else if (isCut)
      writer.addState("response.incomplete", {
        status: "incomplete",
        output,
        incompleteReason,
        usage,
        trace,
      });
    else writer.addState("response.completed", { status: "completed", output, completedAt, usage, trace });
    if (!error) writer.addRaw(DONE);
    return writer.bytes();
  }

  /** The events that report an interrupted answer, with what it was charged. */
  broken(error: StreamError, bill: Required<Pick<ResponseState, "usage" | "trace">>): Buffer {
    const writer = this.#writer();
    writer.fail(error, { output: this.#items.shown(true), ...bill });
    return writer.bytes();
  }

  /** Writes the next events; the first ones say that the response was created. */
  #writer(): EventWriter {
    const writer = new EventWriter(this.#head, this.#sequence);
    if (this.#sequence > 0) return writer;
    writer.addState("response.created", { status: "in_progress" });
    writer.addState("response.in_progress", { status: "in_progress" });
    return writer;
  }
}

/** Writes numbered events. */
class EventWriter {
  readonly #head: ResponseHead;
  #texts: string[] = [];
  /** The number of the next event. */
  sequence: number;

  constructor(head: ResponseHead, sequence: number) {
    this.#head = head;
    this.sequence = sequence;
  }

  add({ type, ...members }: OutputEvent): void {
    this.#add(type, JSON.stringify({ type, sequence_number: this.sequence, ...members }));
  }

  addState(type: string, state: ResponseState): void {
    const response = responseJson(this.#head, state);
    this.#add(type, `{"type":"${type}","sequence_number":${this.sequence},"response":${response}}`);
  }

  /** The event `error`, for which OpenAI's clients throw, and the response that failed. */
  fail(error: StreamError, state: Omit<ResponseState, "status" | "error">): void {
    const { code, message } = error;
    this.add(errorMembers(error));
    this.addState("response.failed", { ...state, status: "failed", error: { code, message } });
  }

  addRaw(text: string): void {
    this.#texts.push(text);
  }

  bytes(): Buffer {
    return Buffer.from(this.#texts.join(""));
  }

  #add(type: string, json: string): void {
    this.#texts.push(`event: ${type}\ndata: ${json}\n\n`);
    this.sequence++;
  }
}
