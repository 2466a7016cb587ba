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

/** What a client was given of one answer, over all tries. */
export type Delivery = {
  /** Whose words were written last; undefined while nothing was written. */
  by: { readonly provider: Provider; readonly reader: StreamReader; usage(): Promise<Metered> } | undefined;
  /** What was written, where another try may go on from there. */
  readonly transcript: DeliveredText | undefined;
  /** What the answer was cut off by at first. */
  failure?: AppError;
};

/** How long the usage and the last event are waited for when the answer is whole, and the last event alone. */
const ENDING_MS = 3_000;
const LAST_EVENT_MS = 500;
/** How long a provider may take to close its answer, so that the connection can be used again. */
const LINGER_MS = 1_000;
const MAX_PREAMBLE_BYTES = 1_048_576;
const MAX_STREAM_BYTES = 64 * 1_048_576;

const BLANK_LINE = Buffer.from("\n\n");

/** Why an exchange ends whose client is gone. */
export const LEFT = new AppError("provider_error", "The client left.");

/** One try of a streamed answer: hears what one provider sends, and writes what the client is to have. */
export class StreamAttempt implements ProviderListener {
  readonly #terms: StreamOptions;
  readonly #attempt: AttemptOptions;
  readonly #delivery: Delivery;
  readonly #repetition: ResumeMatcher | undefined;
  readonly #reader: StreamReader;
  readonly #scanner = new EventScanner();
  readonly #over = Promise.withResolvers<void>();
  #exchange: ProviderExchange | undefined;
  #head: ProviderHead | undefined;
  readonly #refusal = new ErrorBodyCollector();
  #preamble: { readonly event: Buffer; readonly said: readonly Piece[] | undefined }[] = [];
  #preambleBytes = 0;
  #streamBytes = 0;
  #isHeard = false;
  #closed = false;
  #settled = false;
  #stall: NodeJS.Timeout | undefined;
  readonly #silence = new SilenceTimer((failure) => this.#fail(failure));
  #firstToken: NodeJS.Timeout | undefined;
  #ending: NodeJS.Timeout | undefined;
  #lingering: NodeJS.Timeout | undefined;

  constructor(terms: StreamOptions, attempt: AttemptOptions, delivery: Delivery) {
    this.#terms = terms;
    this.#attempt = attempt;
    this.#delivery = delivery;
    this.#repetition = delivery.by && delivery.transcript && new ResumeMatcher(delivery.transcript);
    this.#reader = terms.newReader(attempt.provider);
  }

  /** Whether the bill was made by this try, or is being made. */
  get isSettled(): boolean {
    return this.#settled;
  }

  /** Resolves when the answer is over and billed; rejects with what this try failed by. */
  async follow(exchange: ProviderExchange): Promise<void> {
    this.#exchange = exchange;
    if (this.#closed) exchange.abort(LEFT);
    else if (this.#attempt.hasOther)
      this.#firstToken = setTimeout(() => this.#fail(tooSlow()), this.#terms.firstTokenMs);
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
    if (this.#isEventStream()) this.#terms.admitted.markFirstByte();
    else this.#silence.allow(this.#terms.silenceMs);
  }

  onChunk(chunk: Buffer): void {
    if (this.#closed) return;
    if (!this.#isEventStream()) {
      if (!this.#refusal.keep(chunk)) this.#fail(this.#refusal.failure(this.#head));
      return;
    }
    this.#streamBytes += chunk.length;
    if (this.#isHeard) this.#silence.allow(this.#terms.silenceMs);
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
    // A line that breaks behind the whole answer takes nothing away from it.
    if (this.#reader.isFinished) this.#complete();
    else this.#fail(failureOf(error));
    clearTimeout(this.#lingering);
  }

  onDrain(): void {
    if (!this.#stall) return;
    clearTimeout(this.#stall);
    this.#stall = undefined;
    this.#silence.allow(this.#terms.silenceMs);
    this.#exchange?.resume();
  }

  onClientLeft(): void {
    if (!this.#close()) return;
    this.#exchange?.abort(LEFT);
    const { by } = this.#delivery;
    if (!by) {
      this.#over.reject(LEFT);
      return;
    }
    const ending = async () =>
      ({ outcome: "aborted", provider: by.provider, ...(await by.usage()) }) as const;
    this.#settle(ending(), () => this.#terms.sink.end());
  }

  #isEventStream(): boolean {
    return this.#head?.status === 200 && this.#head.contentType.includes("text/event-stream");
  }

  #onEvent(event: Buffer): void {
    if (this.#closed) return;
    const kind = this.#reader.read(event);
    if (this.#repetition && !this.#repetition.isOver) this.#compare(kind, this.#repetition);
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
    const patienceMs = this.#reader.usage ? LAST_EVENT_MS : ENDING_MS;
    this.#ending = setTimeout(() => this.#complete(), patienceMs);
  }

  /** Writes only what goes on from where the try before was cut off. */
  #compare(kind: EventKind, repetition: ResumeMatcher): void {
    if (kind === "end") throw differs();
    if (kind !== "content" && kind !== "preamble") return;
    if (kind === "content") this.#hear();
    const { parts: said } = this.#reader;
    const texts = repetition.take(said);
    if (texts.every((text) => text === "")) return;
    this.#take();
    this.#write(this.#reader.render(texts));
    this.#delivery.transcript?.add(said?.map(({ channel }, at) => ({ channel, text: texts[at] ?? "" })));
  }

  /** What came behind the last blank line may still be an event. */
  #readRemainder(): void {
    if (this.#scanner.remainder.length === 0) return;
    try {
      for (const event of this.#scanner.push(BLANK_LINE)) this.#onEvent(event);
    } catch (error) {
      if (!this.#reader.isFinished) this.#fail(failureOf(error));
    }
  }

  #hold(event: Buffer): void {
    const said = this.#delivery.transcript ? this.#reader.parts : undefined;
    this.#preamble.push({ event: this.#reader.shown(event), said });
    this.#preambleBytes += event.length;
    if (this.#preambleBytes > MAX_PREAMBLE_BYTES) throw malformed("The provider's stream says nothing.");
  }

  /** The first content of this try is there. */
  #hear(): void {
    if (this.#isHeard) return;
    this.#isHeard = true;
    clearTimeout(this.#firstToken);
    this.#silence.allow(this.#terms.silenceMs);
    this.#attempt.firstByte();
  }

  get #isBegun(): boolean {
    return this.#delivery.by !== undefined;
  }

  #begin(): void {
    if (this.#isBegun) return;
    this.#hear();
    this.#take();
    this.#terms.admitted.markDelivered();
    this.#terms.sink.start({ responseKey: this.#head?.responseKey });
    if (this.#preamble.length > 0) this.#write(Buffer.concat(this.#preamble.map(({ event }) => event)));
    for (const { said } of this.#preamble) this.#delivery.transcript?.add(said);
    this.#preamble = [];
  }

  /** From now on the client has the words of this try. */
  #take(): void {
    const { provider } = this.#attempt;
    this.#delivery.by = { provider, reader: this.#reader, usage: () => this.#meter() };
  }

  #pass(event: Buffer): void {
    if (this.#delivery.by?.reader !== this.#reader) this.#take();
    this.#delivery.transcript?.add(this.#reader.parts);
    this.#write(this.#reader.shown(event));
  }

  #write(bytes: Buffer): void {
    if (this.#terms.sink.write(bytes) || this.#stall) return;
    this.#exchange?.pause();
    this.#silence.stop();
    this.#stall = setTimeout(() => this.onClientLeft(), this.#terms.stallMs);
  }

  #complete(): void {
    if (this.#repetition && !this.#repetition.isOver) {
      this.#fail(differs());
      return;
    }
    if (!this.#close()) return;
    this.#lingering = setTimeout(() => this.#exchange?.abort(new Error("the answer is whole")), LINGER_MS);
    const metered = this.#meter();
    const answerId = this.#head?.responseKey ?? this.#reader.answerId;
    const ending = async () => ({ outcome: "completed", ...(await metered), answerId }) as const;
    this.#settle(ending(), async (trace) => {
      const { usage } = await metered;
      this.#begin();
      this.#write(this.#reader.closing(trace, usage));
      this.#terms.sink.end();
    });
  }

  #fail(failure: AppError): void {
    if (!this.#close()) return;
    this.#exchange?.abort(new Error("the answer failed"));
    if (this.#isBegun) this.#delivery.failure ??= failure;
    this.#over.reject(failure);
  }

  /** Whether the answer ends just now. Aborting an exchange calls `onError` at once, which must not end it again. */
  #close(): boolean {
    if (this.#closed) return false;
    this.#closed = true;
    clearTimeout(this.#firstToken);
    this.#silence.stop();
    clearTimeout(this.#ending);
    return true;
  }

  #meter(): Promise<Metered> {
    return this.#reader.meter(this.#terms.countInput);
  }

  #settle(ending: Promise<Ending>, then: (trace: Trace) => void | Promise<void>): void {
    this.#settled = true;
    ending
      .then((known) => this.#terms.admitted.settle(known))
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
