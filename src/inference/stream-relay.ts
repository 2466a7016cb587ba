import { AppError } from "../kernel/errors.ts";
import type { Admitted, Ending, Trace } from "./admitted.ts";
import { EventScanner } from "./event-scanner.ts";
import type { TokenUsage } from "./pricing.ts";
import type { ProviderExchange, ProviderHead, ProviderListener } from "./provider.client.ts";
import { failureOf, refusalOf, statedFailure } from "./provider-answer.ts";
import { ProviderFailure } from "./provider-failure.ts";
import type { Try } from "./provider-try.ts";

/** Where the events of a streamed answer go. */
export type StreamSink = {
  /** Called once, before the first write. */
  start(head: { readonly responseKey: string | undefined }): void;
  /** False when the reader is behind: then nothing more is written until `onDrain` tells. */
  write(bytes: Buffer): boolean;
  end(): void;
  isClosed(): boolean;
  onDrain(listener: () => void): void;
  onClose(listener: () => void): void;
};

/**
 * What an event is: `preamble` says nothing yet and `content` does; a `comment` is for nobody; `withheld` is not
 * shown, or only later in another form; `end` is the last event, which is not shown either.
 */
export type EventKind = "preamble" | "content" | "comment" | "withheld" | "end";

/** How the events of a format are read. One reader reads the stream of one try. */
export type StreamReader = {
  /** Judges an event. Throws a `ProviderFailure` for one that is broken, and what an error event says. */
  read(event: Buffer): EventKind;
  /** What the provider says it used, as far as it makes sense. */
  readonly usage: TokenUsage | undefined;
  /** The provider's own id of the answer, as its events have it. */
  readonly answerId?: string | undefined;
  /** Whether the answer is whole, the last event apart. */
  readonly isFinished: boolean;
  /** Tokens of the content that was read, by the router's own tokenizer. */
  countTokens(): number;
  /** What is written when the bill is committed: the last events. */
  closing(trace: Trace, billed: TokenUsage): Buffer;
  /** What is written when the provider broke off: an event that tells so, and nothing that looks like an end. */
  broken(): Buffer;
};

/** What a relay is made of. */
export type StreamTerms = {
  readonly admitted: Admitted;
  readonly sink: StreamSink;
  readonly newReader: () => StreamReader;
  /** Tokens of the question by the router's own count. */
  readonly inputTokens: number;
  readonly firstTokenMs: number;
  readonly stallMs: number;
};

/** How long the usage and the last event are waited for when the answer is whole, and the last event alone. */
const ENDING_MS = 3_000;
const LAST_EVENT_MS = 500;
/** How long a provider may take to close its answer, so that the connection can be used again. */
const LINGER_MS = 1_000;
const MAX_REFUSAL_BYTES = 65_536;
const MAX_PREAMBLE_BYTES = 1_048_576;
const MAX_STREAM_BYTES = 64 * 1_048_576;

/**
 * Passes the events of one try after the other on to a client, byte for byte, and meters beside it. Until the first
 * content nothing is written, so that whatever fails by then can be tried elsewhere; from then on there is no other
 * try. The last event is written when the bill is committed.
 */
export class StreamRelay {
  readonly #terms: StreamTerms;
  readonly #leaving = new AbortController();
  #current: StreamTry | undefined;

  constructor(terms: StreamTerms) {
    this.#terms = terms;
    const { sink } = terms;
    sink.onClose(() => this.#onClientLeft());
    sink.onDrain(() => this.#current?.onDrain());
    if (sink.isClosed()) this.#onClientLeft();
  }

  /** Aborts when the client leaves. */
  get left(): AbortSignal {
    return this.#leaving.signal;
  }

  /** Whether the bill was made, or is being made. */
  get isSettled(): boolean {
    return this.#current?.isSettled ?? false;
  }

  /** One try. Resolves when it is over and billed; rejects when it failed before anything was written. */
  async run(attempt: Try, post: (listener: ProviderListener) => Promise<ProviderExchange>): Promise<void> {
    const current = new StreamTry(this.#terms, attempt);
    this.#current = current;
    const exchange = await post(current);
    if (this.left.aborted) exchange.abort(LEFT);
    await current.follow(exchange);
  }

  #onClientLeft(): void {
    this.#leaving.abort();
    this.#current?.onClientLeft();
  }
}

const LEFT = new AppError("provider_error", "The client left.");

class StreamTry implements ProviderListener {
  readonly #terms: StreamTerms;
  readonly #attempt: Try;
  readonly #reader: StreamReader;
  readonly #scanner = new EventScanner();
  readonly #over = Promise.withResolvers<void>();
  #exchange: ProviderExchange | undefined;
  #head: ProviderHead | undefined;
  #refusal: Buffer[] = [];
  #preamble: Buffer[] = [];
  #preambleBytes = 0;
  #streamBytes = 0;
  #started = false;
  #closed = false;
  #settled = false;
  #stall: NodeJS.Timeout | undefined;
  #firstToken: NodeJS.Timeout | undefined;
  #ending: NodeJS.Timeout | undefined;
  #lingering: NodeJS.Timeout | undefined;

  constructor(terms: StreamTerms, attempt: Try) {
    this.#terms = terms;
    this.#attempt = attempt;
    this.#reader = terms.newReader();
  }

  get isSettled(): boolean {
    return this.#settled;
  }

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
      clearTimeout(this.#ending);
    }
  }

  onHead(head: ProviderHead): void {
    this.#head = head;
    if (!this.#isEventStream()) return;
    this.#terms.admitted.markFirstByte();
  }

  onChunk(chunk: Buffer): void {
    if (this.#closed) return;
    if (!this.#isEventStream()) {
      this.#keepRefusal(chunk);
      return;
    }
    this.#streamBytes += chunk.length;
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
      this.#fail(this.#refused());
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
    this.#exchange?.resume();
  }

  onClientLeft(): void {
    if (!this.#close()) return;
    this.#exchange?.abort(LEFT);
    if (!this.#started) {
      this.#over.reject(LEFT);
      return;
    }
    this.#settle({ outcome: "aborted", ...this.#usage() }, () => this.#terms.sink.end());
  }

  #isEventStream(): boolean {
    return this.#head?.status === 200 && this.#head.contentType.includes("text/event-stream");
  }

  #keepRefusal(chunk: Buffer): void {
    this.#refusal.push(chunk);
    if (this.#refusal.reduce((sum, part) => sum + part.length, 0) < MAX_REFUSAL_BYTES) return;
    this.#fail(this.#refused());
  }

  #refused(): AppError {
    const body = Buffer.concat(this.#refusal);
    if (this.#head && this.#head.status !== 200) return refusalOf(this.#head, body);
    const error = errorIn(body);
    return error === undefined
      ? malformed("The provider did not answer with a stream.")
      : statedFailure(error);
  }

  #onEvent(event: Buffer): void {
    if (this.#closed) return;
    const kind = this.#reader.read(event);
    switch (kind) {
      case "end":
        if (!this.#started && !this.#reader.isFinished) throw malformed("The provider's stream is empty.");
        this.#complete();
        return;
      case "content":
        this.#start();
        this.#write(event);
        break;
      case "preamble":
        if (this.#started) this.#write(event);
        else this.#hold(event);
        break;
      case "comment":
        if (this.#started) this.#write(event);
        break;
      case "withheld":
        break;
    }
    clearTimeout(this.#ending);
    if (!this.#reader.isFinished) return;
    const patienceMs = this.#reader.usage ? LAST_EVENT_MS : ENDING_MS;
    this.#ending = setTimeout(() => this.#complete(), patienceMs);
  }

  /** What came behind the last blank line may still be an event. */
  #readRemainder(): void {
    const rest = this.#scanner.remainder;
    if (rest.length === 0) return;
    try {
      this.#onEvent(Buffer.concat([rest, Buffer.from("\n\n")]));
    } catch (error) {
      if (!this.#reader.isFinished) this.#fail(failureOf(error));
    }
  }

  #hold(event: Buffer): void {
    this.#preamble.push(event);
    this.#preambleBytes += event.length;
    if (this.#preambleBytes > MAX_PREAMBLE_BYTES) throw malformed("The provider's stream says nothing.");
  }

  #start(): void {
    if (this.#started) return;
    this.#started = true;
    clearTimeout(this.#firstToken);
    this.#attempt.firstByte();
    this.#terms.sink.start({ responseKey: this.#head?.responseKey });
    if (this.#preamble.length > 0) this.#write(Buffer.concat(this.#preamble));
    this.#preamble = [];
  }

  #write(bytes: Buffer): void {
    if (this.#terms.sink.write(bytes) || this.#stall) return;
    this.#exchange?.pause();
    this.#stall = setTimeout(() => this.onClientLeft(), this.#terms.stallMs);
  }

  #complete(): void {
    if (!this.#close()) return;
    this.#lingering = setTimeout(() => this.#exchange?.abort(new Error("the answer is whole")), LINGER_MS);
    const { usage, estimated } = this.#usage();
    const answerId = this.#head?.responseKey ?? this.#reader.answerId;
    this.#settle({ outcome: "completed", usage, estimated, answerId }, (trace) => {
      this.#start();
      this.#write(this.#reader.closing(trace, usage));
      this.#terms.sink.end();
    });
  }

  #fail(failure: AppError): void {
    if (!this.#close()) return;
    this.#exchange?.abort(new Error("the answer failed"));
    if (!this.#started) {
      this.#over.reject(failure);
      return;
    }
    this.#attempt.broke(failure);
    this.#terms.admitted.endAttempt("failed", failure);
    const ending: Ending = { outcome: "failed", errorCode: failure.code, ...this.#usage() };
    this.#settle(ending, () => {
      this.#write(this.#reader.broken());
      this.#terms.sink.end();
    });
  }

  /** Whether the answer ends just now. Aborting an exchange calls `onError` at once, which must not end it again. */
  #close(): boolean {
    if (this.#closed) return false;
    this.#closed = true;
    clearTimeout(this.#firstToken);
    clearTimeout(this.#ending);
    return true;
  }

  /** What is billed: the provider's count if it came, else ours of what was delivered. */
  #usage(): { readonly usage: TokenUsage; readonly estimated: boolean } {
    const stated = this.#reader.usage;
    if (stated) return { usage: stated, estimated: false };
    const { inputTokens } = this.#terms;
    return { usage: { inputTokens, outputTokens: this.#reader.countTokens() }, estimated: true };
  }

  #settle(ending: Ending, then: (trace: Trace) => void): void {
    this.#settled = true;
    this.#terms.admitted.settle(ending).then(then).then(this.#over.resolve, this.#over.reject);
  }
}

function malformed(message: string, cause?: unknown): ProviderFailure {
  return new ProviderFailure("malformed", { message, cause });
}

function tooSlow(): ProviderFailure {
  return new ProviderFailure("silent", { cause: new Error("no first token in time") });
}

function errorIn(body: Buffer): unknown {
  try {
    const answer: unknown = JSON.parse(body.toString("utf8"));
    return typeof answer === "object" && answer !== null && "error" in answer ? answer.error : undefined;
  } catch {
    return undefined;
  }
}
