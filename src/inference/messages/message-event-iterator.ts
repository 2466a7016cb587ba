import type { Caller } from "../billing/admitted.ts";
import type { Trace } from "../billing/trace.ts";
import type { Fields } from "../body/fields.ts";
import { EventIterator, streamFailure } from "../dispatch/event-iterator.ts";
import { eventData } from "../dispatch/event-scanner.ts";
import type { MessageOptions, MessagesService } from "./messages.service.ts";
import type { MessagesRequest } from "./messages-request.ts";
import { readInputUsage, readOutputUsage } from "./messages-usage.ts";

/** An event of a message in Anthropic's format, or its end with the bill. */
export type MessagePiece =
  | { readonly kind: "event"; readonly event: Fields }
  | {
      readonly kind: "end";
      /** All tokens of the prompt, including those that a cache served or stored. */
      readonly inputTokens: number;
      readonly outputTokens: number;
      readonly trace: Trace;
    };

/** Events that say nothing about the message. */
const SILENT: ReadonlySet<unknown> = new Set(["ping", "message_stop"]);
const TRACE = ": x_0g_trace ";

/**
 * Streams a message as an async iterator; the last item is the bill. An interrupted message also ends with its bill,
 * and then fails. Ending the iteration aborts the provider, and the delivered part is billed. A slow reader applies
 * backpressure to the provider.
 */
export function messageEvents(
  messages: Pick<MessagesService, "stream">,
  request: MessagesRequest,
  caller: Caller,
  options: MessageOptions,
): AsyncIterableIterator<MessagePiece> {
  const iterator = new MessageEventIterator();
  messages.stream(request, caller, iterator, options).catch((error: unknown) => iterator.fail(error));
  return iterator;
}

class MessageEventIterator extends EventIterator<MessagePiece> {
  #inputTokens = 0;
  #outputTokens = 0;
  #trace: Trace | undefined;

  protected override take(bytes: Buffer): void {
    const data = eventData(bytes);
    if (data === undefined) this.#takeComment(bytes);
    else this.#takeEvent(JSON.parse(data) as Fields);
  }

  #takeEvent(event: Fields): void {
    const { type, usage, message } = event;
    this.#takeUsage(usage ?? (message as Fields | undefined)?.usage);
    if (type === "error") this.#takeError(event);
    else if (!SILENT.has(type)) this.push({ kind: "event", event });
    if (type === "message_stop") this.#end(this.#trace);
  }

  /** The bill of an interrupted message is in its error. */
  #takeError({ error, x_0g_trace: trace }: Fields): void {
    this.#end(trace as Trace | undefined);
    this.fail(streamFailure(error ?? {}));
  }

  #end(trace: Trace | undefined): void {
    if (!trace) return;
    const [inputTokens, outputTokens] = [this.#inputTokens, this.#outputTokens];
    this.push({ kind: "end", inputTokens, outputTokens, trace });
  }

  #takeComment(bytes: Buffer): void {
    const text = bytes.toString("utf8").trim();
    if (text.startsWith(TRACE)) this.#trace = JSON.parse(text.slice(TRACE.length)) as Trace;
  }

  /** The last usage of a stream is the billed one; some providers report the input at its beginning only. */
  #takeUsage(usage: unknown): void {
    const most = Number.MAX_SAFE_INTEGER;
    this.#inputTokens = readInputUsage(usage, most)?.inputTokens ?? this.#inputTokens;
    this.#outputTokens = readOutputUsage(usage, most) ?? this.#outputTokens;
  }
}
