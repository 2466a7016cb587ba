import { AppError } from "../../kernel/errors.ts";
import type { Ending, Trace } from "../billing/admitted.ts";
import type { Metered } from "../billing/usage.ts";
import { type DeliveredText, differs, type Piece, ResumeMatcher } from "../chat/delivered-text.ts";
import type { ProviderExchange, ProviderHead, ProviderListener } from "../providers/provider.client.ts";
import type { Provider } from "../providers/provider.ts";
import { failureOf } from "../providers/provider-answer.ts";
import { ProviderFailure } from "../providers/provider-failure.ts";
import { SilenceTimer } from "../providers/silence-timer.ts";
import type { AttemptOptions } from "./attempt.ts";
import { ErrorBodyCollector } from "./error-body-collector.ts";
import { EventScanner } from "./event-scanner.ts";
import type { EventKind, StreamOptions, StreamReader } from "./stream-options.ts";

/** What the client has received of one answer, over all attempts. */
export type Delivery = {
  /** The provider whose content was written last; undefined before the first write. */
  by: { readonly provider: Provider; readonly reader: StreamReader; usage(): Promise<Metered> } | undefined;
  /** The written text, if another attempt may resume after it. */
  readonly text: DeliveredText | undefined;
  /** The first failure that interrupted the answer. */
  failure?: AppError;
};

/** How long to wait after the complete answer for usage and the last event, and for the last event alone. */
const ENDING_MS = 3_000;
const LAST_EVENT_MS = 500;
/** How long a provider may take to close its answer, so that the connection can be reused. */
const LINGER_MS = 1_000;
const MAX_PREAMBLE_BYTES = 1_048_576;
const MAX_STREAM_BYTES = 64 * 1_048_576;

const BLANK_LINE = Buffer.from("\n\n");

/** The abort reason of an exchange whose client disconnected. */
export const CLIENT_GONE = new AppError("provider_error", "The client disconnected.");

/** One attempt of a streamed answer: reads the events of one provider and writes the client's stream. */
export class StreamAttempt implements ProviderListener {
  readonly #options: StreamOptions;
  readonly #attempt: AttemptOptions;
  readonly #delivery: Delivery;
  readonly #resumed: ResumeMatcher | undefined;
  readonly #reader: StreamReader;
  readonly #scanner = new EventScanner();
  readonly #over = Promise.withResolvers<void>();
  #exchange: ProviderExchange | undefined;
  #head: ProviderHead | undefined;
  readonly #refusal = new ErrorBodyCollector();
  #preamble: { readonly event: Buffer; readonly pieces: readonly Piece[] | undefined }[] = [];
  #preambleBytes = 0;
  #streamBytes = 0;
  #hasContent = false;
  #closed = false;
  #settled = false;
  #stall: NodeJS.Timeout | undefined;
  readonly #silence = new SilenceTimer((failure) => this.#fail(failure));
  #firstToken: NodeJS.Timeout | undefined;
  #ending: NodeJS.Timeout | undefined;
  #lingering: NodeJS.Timeout | undefined;

  constructor(options: StreamOptions, attempt: AttemptOptions, delivery: Delivery) {
    this.#options = options;
    this.#attempt = attempt;
    this.#delivery = delivery;
    this.#resumed = delivery.by && delivery.text && new ResumeMatcher(delivery.text);
    this.#reader = options.newReader(attempt.provider);
  }

  /** Whether this attempt has made, or is making, the bill. */
  get isSettled(): boolean {
    return this.#settled;
  }

  /** Resolves when the answer has ended and is billed; rejects with the failure of this attempt. */
  async follow(exchange: ProviderExchange): Promise<void> {
    this.#exchange = exchange;
    if (this.#closed) exchange.abort(CLIENT_GONE);
    else if (this.#attempt.hasOther)
      this.#firstToken = setTimeout(() => this.#fail(tooSlow()), this.#options.firstTokenMs);
    try {
      await this.#over.promise;
    } finally {
      clearTimeout(this.#firstToken);
      clearTimeout(this.#stall);
      this.#silence.stop();
      clearTimeout(this.#ending);
    }
  }

  onHead(head: ProviderHead): void {
    this.#head = head;
    if (this.#isEventStream()) this.#options.admitted.markFirstByte();
    else this.#silence.allow(this.#options.silenceMs);
  }

  onChunk(chunk: Buffer): void {
    if (this.#closed) return;
    if (!this.#isEventStream()) {
      if (!this.#refusal.keep(chunk)) this.#fail(this.#refusal.failure(this.#head));
      return;
    }
    this.#streamBytes += chunk.length;
    if (this.#hasContent) this.#silence.allow(this.#options.silenceMs);
    try {
      if (this.#streamBytes > MAX_STREAM_BYTES) throw malformed("The provider's stream is too long.");
      for (const event of this.#scanner.push(chunk)) this.#onEvent(event);
    } catch (error) {
      this.#fail(error instanceof AppError ? error : malformed("The provider's stream is broken.", error));
    }
  }

  onEnd(): void {
    clearTimeout(this.#lingering);
    if (this.#closed) return;
    if (!this.#isEventStream()) {
      this.#fail(this.#refusal.failure(this.#head));
      return;
    }
    this.#readRemainder();
    if (this.#closed) return;
    if (this.#reader.isFinished) this.#complete();
    else this.#fail(malformed("The provider's stream ended too early."));
    clearTimeout(this.#lingering);
  }

  onError(error: Error): void {
    clearTimeout(this.#lingering);
    if (this.#closed) return;
    // A connection error after the complete answer does not invalidate it.
    if (this.#reader.isFinished) this.#complete();
    else this.#fail(failureOf(error));
    clearTimeout(this.#lingering);
  }

  onDrain(): void {
    if (!this.#stall) return;
    clearTimeout(this.#stall);
    this.#stall = undefined;
    this.#silence.allow(this.#options.silenceMs);
    this.#exchange?.resume();
  }

  onClientLeft(): void {
    if (!this.#close()) return;
    this.#exchange?.abort(CLIENT_GONE);
    const { by } = this.#delivery;
    if (!by) {
      this.#over.reject(CLIENT_GONE);
      return;
    }
    const ending = async () =>
      ({ outcome: "aborted", provider: by.provider, ...(await by.usage()) }) as const;
    this.#settle(ending(), () => this.#options.sink.end());
  }

  #isEventStream(): boolean {
    return this.#head?.status === 200 && this.#head.contentType.includes("text/event-stream");
  }

  #onEvent(event: Buffer): void {
    if (this.#closed) return;
    const kind = this.#reader.read(event);
    if (this.#resumed && !this.#resumed.isOver) this.#compare(kind, this.#resumed);
    else if (kind === "end") {
      if (!this.#isBegun && !this.#reader.isFinished) throw malformed("The provider's stream is empty.");
      this.#complete();
      return;
    } else if (kind === "content") {
      this.#begin();
      this.#pass(event);
    } else if (kind === "preamble" && !this.#isBegun) this.#hold(event);
    else if (kind === "preamble" || (kind === "comment" && this.#isBegun)) this.#pass(event);
    clearTimeout(this.#ending);
    if (!this.#reader.isFinished) return;
    const waitMs = this.#reader.usage ? LAST_EVENT_MS : ENDING_MS;
    this.#ending = setTimeout(() => this.#complete(), waitMs);
  }

  /** Writes only the continuation of the text that the previous attempt delivered. */
  #compare(kind: EventKind, matcher: ResumeMatcher): void {
    if (kind === "end") throw differs();
    if (kind !== "content" && kind !== "preamble") return;
    if (kind === "content") this.#markContent();
    const { parts: pieces } = this.#reader;
    const texts = matcher.take(pieces);
    if (texts.every((text) => text === "")) return;
    this.#claim();
    this.#write(this.#reader.render(texts));
    this.#delivery.text?.add(pieces?.map(({ channel }, at) => ({ channel, text: texts[at] ?? "" })));
  }

  /** The bytes after the last blank line may still be an event. */
  #readRemainder(): void {
    if (this.#scanner.remainder.length === 0) return;
    try {
      for (const event of this.#scanner.push(BLANK_LINE)) this.#onEvent(event);
    } catch (error) {
      if (!this.#reader.isFinished) this.#fail(failureOf(error));
    }
  }

  #hold(event: Buffer): void {
    const pieces = this.#delivery.text ? this.#reader.parts : undefined;
    this.#preamble.push({ event: this.#reader.shown(event), pieces });
    this.#preambleBytes += event.length;
    if (this.#preambleBytes > MAX_PREAMBLE_BYTES) throw malformed("The provider's stream has no content.");
  }

  /** Records the first content of this attempt. */
  #markContent(): void {
    if (this.#hasContent) return;
    this.#hasContent = true;
    clearTimeout(this.#firstToken);
    this.#silence.allow(this.#options.silenceMs);
    this.#attempt.firstByte();
  }

  get #isBegun(): boolean {
    return this.#delivery.by !== undefined;
  }

  #begin(): void {
    if (this.#isBegun) return;
    this.#markContent();
    this.#claim();
    this.#options.admitted.markDelivered();
    this.#options.sink.start({ responseKey: this.#head?.responseKey });
    if (this.#preamble.length > 0) this.#write(Buffer.concat(this.#preamble.map(({ event }) => event)));
    for (const { pieces } of this.#preamble) this.#delivery.text?.add(pieces);
    this.#preamble = [];
  }

  /** Marks this attempt as the one whose content the client receives. */
  #claim(): void {
    const { provider } = this.#attempt;
    this.#delivery.by = { provider, reader: this.#reader, usage: () => this.#meter() };
  }

  #pass(event: Buffer): void {
    if (this.#delivery.by?.reader !== this.#reader) this.#claim();
    this.#delivery.text?.add(this.#reader.parts);
    this.#write(this.#reader.shown(event));
  }

  #write(bytes: Buffer): void {
    if (this.#options.sink.write(bytes) || this.#stall) return;
    this.#exchange?.pause();
    this.#silence.stop();
    this.#stall = setTimeout(() => this.onClientLeft(), this.#options.stallMs);
  }

  #complete(): void {
    if (this.#resumed && !this.#resumed.isOver) {
      this.#fail(differs());
      return;
    }
    if (!this.#close()) return;
    this.#lingering = setTimeout(() => this.#exchange?.abort(new Error("the answer is complete")), LINGER_MS);
    const metered = this.#meter();
    const answerId = this.#head?.responseKey ?? this.#reader.answerId;
    const ending = async () => ({ outcome: "completed", ...(await metered), answerId }) as const;
    this.#settle(ending(), async (trace) => {
      const { usage } = await metered;
      this.#begin();
      this.#write(this.#reader.closing(trace, usage));
      this.#options.sink.end();
    });
  }

  #fail(failure: AppError): void {
    if (!this.#close()) return;
    this.#exchange?.abort(new Error("the answer failed"));
    if (this.#isBegun) this.#delivery.failure ??= failure;
    this.#over.reject(failure);
  }

  /** True on the first call. Aborting an exchange calls `onError` synchronously, which must not end it again. */
  #close(): boolean {
    if (this.#closed) return false;
    this.#closed = true;
    clearTimeout(this.#firstToken);
    this.#silence.stop();
    clearTimeout(this.#ending);
    return true;
  }

  #meter(): Promise<Metered> {
    return this.#reader.meter(this.#options.countInput);
  }

  #settle(ending: Promise<Ending>, then: (trace: Trace) => void | Promise<void>): void {
    this.#settled = true;
    const { billing, admitted } = this.#options;
    ending
      .then((known) => billing.settle(admitted, known))
      .then(then)
      .then(this.#over.resolve, this.#over.reject);
  }
}

function malformed(message: string, cause?: unknown): ProviderFailure {
  return new ProviderFailure("malformed", { message, cause });
}

function tooSlow(): ProviderFailure {
  return new ProviderFailure("silent", { cause: new Error("no first token in time") });
}
