import type { AppError } from "../../../kernel/errors.ts";
import { exactJson } from "../../../kernel/text/exact-json.ts";
import type { TokenUsage } from "../../billing/pricing.ts";
import type { ShownCost } from "../../billing/shown-cost.ts";
import type { Trace } from "../../billing/trace.ts";
import { type Metered, meterUsage, NOTHING_STATED, wholeUsage } from "../../billing/usage.ts";
import type { Fields } from "../../body/fields.ts";
import { withoutTrace } from "../../body/trace-edits.ts";
import { addOutput } from "../../chat/answer-text.ts";
import type { TextMeter } from "../../chat/text-meter.ts";
import { answerIdOf, emptyAnswer } from "../../chat/whole-answer.ts";
import { namedFailure } from "../../dispatch/event-failure.ts";
import { eventData } from "../../dispatch/event-scanner.ts";
import type { EventKind, StreamReader } from "../../dispatch/stream-options.ts";
import { statedFailure } from "../../providers/exchange/provider-answer.ts";
import { responseUsage } from "../response-object.ts";
import { DONE } from "../response-stream.ts";
import { fieldsOf } from "../said.ts";
import { errorMembers, INTERRUPTED, type StreamError, streamErrorOf } from "../stream-error.ts";
import { type ResponseChanges, withResponse } from "./event-edits.ts";
import { type AddedText, EventTexts } from "./event-texts.ts";
import { endOf, type ResponseBounds, requireId } from "./native-answer.ts";
import { isResponseCacheShown, readResponseUsage, statedReasoningTokens } from "./native-usage.ts";

const STARTS: ReadonlySet<unknown> = new Set(["response.created", "response.queued", "response.in_progress"]);
const ENDS: ReadonlySet<unknown> = new Set(["response.completed", "response.incomplete"]);
/** A type that can be the name of an event. */
const TYPE = /^[\w.]{1,100}$/;
const ITEMS: ReadonlySet<unknown> = new Set(["response.output_item.added", "response.output_item.done"]);
const FAILED: ReadonlySet<unknown> = new Set(["response.failed", "response.cancelled"]);

/**
 * Reads the stream of a provider that has this format. Its events are relayed unchanged, except for the model's name and
 * the last event: it is withheld until the bill is committed, because its usage shows the cost. Numbers of events are
 * not checked, as clients do not need them; the router's own continue the highest.
 */
export class NativeResponseEvents implements StreamReader {
  readonly #bounds: ResponseBounds;
  readonly #text: TextMeter;
  readonly #texts = new EventTexts();
  #stated = NOTHING_STATED;
  /** The event that was read last, its data, and whether a bill was removed from it. */
  #event: Fields = {};
  #isForged = false;
  /** What the event adds to a text. */
  #added: AddedText | undefined;
  #data = "";
  /** The response as the last event of a state has it. */
  #response: Fields = {};
  /** The type and the data of the last event. */
  #end: { readonly type: string; readonly data: string } | undefined;
  /** The number of the next event. */
  #next = 0;

  constructor(bounds: ResponseBounds, text: TextMeter) {
    this.#bounds = bounds;
    this.#text = text;
  }

  get usage(): TokenUsage | undefined {
    return wholeUsage(this.#stated);
  }

  get answerId(): string | undefined {
    return answerIdOf(this.#response);
  }

  get finishReason(): string | undefined {
    return this.isFinished ? endOf(this.#response) : undefined;
  }

  /** No other provider repeats an event, since all of them have the provider's own ids and numbers. */
  get parts(): undefined {
    return undefined;
  }

  /** The members of the response that the client knows by other values than the provider. */
  get #names() {
    const { model, names } = this.#bounds;
    return { ...names, ...(model !== undefined && { model }) };
  }

  get isFinished(): boolean {
    return this.#end !== undefined;
  }

  read(event: Buffer): EventKind {
    const data = eventData(event);
    this.#event = {};
    this.#added = undefined;
    const { providerUrl } = this.#bounds;
    const failure = namedFailure(event, data, providerUrl);
    if (failure) throw failure;
    if (data === undefined || data === "") return "withheld";
    const stated = parse(data);
    const fields = withoutTrace(stated, "response");
    const { type, sequence_number: number } = fields;
    if (typeof type !== "string" || !TYPE.test(type)) throw emptyAnswer("The provider's stream is broken.");
    this.#event = fields;
    this.#isForged = fields !== stated;
    this.#data = this.#isForged ? JSON.stringify(fields) : data;
    if (Number.isSafeInteger(number)) this.#next = Math.max(this.#next, (number as number) + 1);
    if (STARTS.has(type)) return this.#begin(fields);
    if (ENDS.has(type)) return this.#finish(type, fields);
    if (FAILED.has(type)) throw statedFailure(fieldsOf(fields.response).error ?? {}, providerUrl);
    if (type === "error") throw statedFailure(fields.error ?? fields, providerUrl);
    this.#added = this.#texts.added(fields);
    return this.#added === undefined ? "preamble" : "content";
  }

  accept(): void {
    const { type, item, output_index: at } = this.#event;
    const { text = "", channel, replaces } = this.#added ?? {};
    if (replaces !== undefined) this.#text.drop(replaces);
    if (channel !== undefined) this.#text.add(channel, text);
    if (!ITEMS.has(type)) return;
    const { call_id: id, name } = fieldsOf(item);
    if (name !== undefined) this.#text.addCall(`${typeof at === "number" ? at : 0}`, { id, name, input: "" });
  }

  shown(event: Buffer): Buffer {
    const { type, response } = this.#event;
    const own = this.#isForged ? Buffer.from(eventOf(String(type), this.#data)) : event;
    if (!STARTS.has(type)) return own;
    const stated = fieldsOf(response);
    const isShown = Object.entries(this.#names).every(([name, value]) => stated[name] === value);
    if (isShown) return own;
    return Buffer.from(eventOf(String(type), this.#changed(this.#data, { members: this.#names })));
  }

  render(): Buffer {
    throw new Error("an event of a response is not repeated");
  }

  meter(): Promise<Metered> {
    const count = { input: this.#bounds.countInput, uncounted: () => this.#text.count() };
    return meterUsage(this.#stated, count, this.#bounds.limits);
  }

  closing(trace: Trace, billed: TokenUsage, failure: AppError | undefined, cost: ShownCost): Buffer {
    const { type, data } = this.#end ?? { type: "response.completed", data: "{}" };
    const usage = this.#billedUsage(billed);
    if (failure)
      return this.#failing(streamErrorOf(failure), { usage: { ...usage, ...cost }, x_0g_trace: trace });
    const members = { ...this.#names, usage: this.#isUsageTrue(billed) ? undefined : usage };
    return Buffer.from(eventOf(type, this.#changed(data, { members, bill: { trace, cost } })) + DONE);
  }

  broken(trace: Trace, billed: TokenUsage, cost: ShownCost): Buffer {
    return this.#failing(INTERRUPTED, {
      usage: { ...this.#billedUsage(billed), ...cost },
      x_0g_trace: trace,
    });
  }

  #begin({ response }: Fields): EventKind {
    this.#response = objectOf(response);
    return "preamble";
  }

  #finish(type: string, { response }: Fields): EventKind {
    const whole = objectOf(response);
    if (whole.error != null) throw statedFailure(whole.error, this.#bounds.providerUrl);
    if (!Array.isArray(whole.output)) throw emptyAnswer("The provider's answer is not a response.");
    this.#response = whole;
    if (this.#bounds.names.id !== undefined) this.#bounds.keep(requireId(this.answerId));
    this.#end = { type, data: this.#data };
    this.#stated = readResponseUsage(whole.usage, this.#bounds.limits);
    if (this.#stated.outputTokens !== undefined) this.#text.clear();
    else if (this.#texts.isEmpty) addOutput(this.#text, whole.output);
    return "end";
  }

  #isUsageTrue(billed: TokenUsage): boolean {
    const stated = this.usage;
    return (
      stated?.inputTokens === billed.inputTokens &&
      stated.outputTokens === billed.outputTokens &&
      isResponseCacheShown(this.#response.usage, billed)
    );
  }

  #billedUsage(billed: TokenUsage) {
    return responseUsage(billed, statedReasoningTokens(this.#response.usage));
  }

  /** The data of an event with these changes: serialized again only if it repeats members. */
  #changed(data: string, changes: ResponseChanges): string {
    const own = withResponse(data, changes);
    if (own !== undefined) return own.replaceAll("\n", "\ndata: ");
    const { members, bill } = changes;
    const event = parse(data);
    const response = fieldsOf(event.response);
    const usage = members.usage ?? fieldsOf(response.usage);
    return exactJson({
      ...event,
      response: {
        ...response,
        ...this.#names,
        ...(bill && { usage: { ...usage, ...bill.cost }, x_0g_trace: bill.trace }),
      },
    });
  }

  /** The event `error`, for which OpenAI's clients throw, and the response that failed. */
  #failing(error: StreamError, more: object): Buffer {
    const { code, message } = error;
    const head = { object: "response", output: [], ...this.#response };
    const failed = { ...head, ...this.#names, status: "failed", error: { code, message }, ...more };
    const events = [errorMembers(error), { type: "response.failed", response: failed }];
    const texts = events.map(({ type, ...members }, at) =>
      eventOf(type, exactJson({ type, sequence_number: this.#next + at, ...members })),
    );
    return Buffer.from(texts.join(""));
  }
}

function eventOf(type: string, data: string): string {
  return `event: ${type}\ndata: ${data}\n\n`;
}

function parse(data: string): Fields {
  try {
    return objectOf(JSON.parse(data));
  } catch (cause) {
    throw emptyAnswer("The provider's stream is broken.", cause);
  }
}

function objectOf(value: unknown): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw emptyAnswer("The provider's stream is broken.");
  return value as Fields;
}
