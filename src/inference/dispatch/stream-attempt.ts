import { runInTurn } from "../../kernel/async/shared-turns.ts";
import { AppError } from "../../kernel/errors.ts";
import { memoizeLast } from "../../kernel/memoize-last.ts";
import { currentContext, runFor } from "../../kernel/tracing.ts";
import type { Ending } from "../billing/ending.ts";
import type { Trace } from "../billing/trace.ts";
import { differs, ResumeMatcher } from "../chat/delivered-text.ts";
import { failureOf } from "../providers/exchange/provider-answer.ts";
import type {
  ProviderExchange,
  ProviderHead,
  ProviderListener,
} from "../providers/exchange/provider-exchange.ts";
import { malformed } from "../providers/exchange/provider-failure.ts";
import { SilenceTimer } from "../providers/exchange/silence-timer.ts";
import type { AttemptOptions } from "./attempt.ts";
import { asOfSlowClient, isMalformed, streamFailure, tooSlow } from "./attempt-failures.ts";
import { ClientWait } from "./client-wait.ts";
import { EndTimer } from "./end-timer.ts";
import { ErrorBodyCollector } from "./error-body-collector.ts";
import { StreamIntake } from "./stream-intake.ts";
import type { EventKind, StreamOptions, StreamReader } from "./stream-options.ts";
import { type Delivery, StreamWriter } from "./stream-writer.ts";

/** How long a provider may take to close its answer, so that the connection can be reused. */
const LINGER_MS = 1_000;
const COMPLETE = new Error("the answer is complete");

/** The abort reason of an exchange whose client disconnected. */
export const CLIENT_GONE = new AppError("provider_error", "The client disconnected.");

/** One attempt of a streamed answer: reads the events of one provider and writes the client's stream. */
export class StreamAttempt implements ProviderListener {
  readonly #options: StreamOptions;
  readonly #attempt: AttemptOptions;
  readonly #delivery: Delivery;
  readonly #resumed: ResumeMatcher | undefined;
  readonly #reader: StreamReader;
  readonly #writer: StreamWriter;
  readonly #intake: StreamIntake;
  /** Chunks arrive in the context of the request that opened the connection, or of another stream. */
  readonly #context = currentContext();
  readonly #over = Promise.withResolvers<void>();
  #exchange: ProviderExchange | undefined;
  #head: ProviderHead | undefined;
  readonly #refusal = new ErrorBodyCollector();
  #hasContent = false;
  readonly #wait = new ClientWait();
  #closed = false;
  /** Whether the provider has ended the exchange, and whether that broke. */
  #isEnded = false;
  #isBroken = false;
  #settled = false;
  readonly #silence = new SilenceTimer((failure) => this.#fail(failure));
  #firstToken: NodeJS.Timeout | undefined;
  readonly #ending = new EndTimer(() => this.#complete());
  #lingering: NodeJS.Timeout | undefined;

  constructor(options: StreamOptions, attempt: AttemptOptions, delivery: Delivery) {
    this.#options = options;
    this.#attempt = attempt;
    this.#delivery = delivery;
    // An attempt may fail before `follow`; a rejection that nothing handles would end the process.
    this.#over.promise.catch(() => {});
    this.#resumed = delivery.by && delivery.text && new ResumeMatcher(delivery.text);
    const { provider } = attempt;
    this.#intake = new StreamIntake(options.turns, {
      event: (event) => this.#onEvent(event),
      failed: (error, isRest) => this.#onInvalid(error, isRest),
      pause: () => this.#exchange?.pause(),
      resume: () => this.#exchange?.resume(),
    });
    this.#reader = options.newReader(provider);
    this.#writer = new StreamWriter(
      options,
      delivery,
      { provider, reader: this.#reader },
      {
        behind: () => {
          this.#wait.begin();
          this.#intake.hold();
          this.#silence.stop();
        },
        stalled: () => this.onClientLeft(),
      },
    );
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
      this.#writer.stop();
      this.#silence.stop();
      this.#ending.stop();
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
    // A provider that is paused may still deliver what it had sent.
    if (this.#hasContent && !this.#intake.isHeld) this.#silence.allow(this.#options.silenceMs);
    this.#intake.take(chunk);
  }

  onEnd(): void {
    this.#end(() => {
      if (this.#isEventStream()) this.#fail(malformed("The provider's stream ended too early."));
      else this.#fail(this.#refusal.failure(this.#head));
    });
  }

  onError(error: Error): void {
    this.#isBroken = true;
    // Hundreds of streams break in one turn where their provider ends.
    runInTurn(() => this.#end(() => this.#fail(failureOf(error))));
  }

  onDrain(): void {
    if (!this.#writer.markDrained()) return;
    this.#wait.end();
    this.#silence.allow(this.#options.silenceMs);
    this.#intake.release();
    this.#awaitEnd();
  }

  /** Ends this attempt with a failure that is not the provider's. */
  stop(failure: AppError): void {
    this.#fail(failure);
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
    this.#settle(ending(), () => this.#options.sink.abort());
  }

  #isEventStream(): boolean {
    return this.#head?.status === 200 && this.#head.contentType.includes("text/event-stream");
  }

  /** Ends the attempt once all that has arrived is read. A complete answer stays valid, however the exchange ended. */
  #end(fail: () => void): void {
    clearTimeout(this.#lingering);
    if (this.#closed) return;
    this.#isEnded = true;
    this.#intake.end(() => {
      if (this.#closed) return;
      if (this.#reader.isFinished) this.#complete();
      else fail();
    });
  }

  #onInvalid(error: unknown, isRest: boolean): void {
    if (this.#isEnded && this.#reader.isFinished) return;
    // What a broken exchange ends with is the beginning of an event.
    if (isRest && this.#isBroken && isMalformed(error)) return;
    this.#fail(streamFailure(error, this.#hasContent));
  }

  /** Returns whether the event has content. */
  #onEvent(event: Buffer): boolean {
    if (this.#closed) return false;
    const kind = this.#reader.read(event);
    this.#pass(event, kind);
    return kind === "content";
  }

  #pass(event: Buffer, kind: EventKind): void {
    if (this.#resumed && !this.#resumed.isOver) this.#compare(kind, this.#resumed);
    else if (kind === "end") {
      if (!this.#writer.isBegun && !this.#reader.isFinished)
        throw malformed("The provider's stream is empty.");
      this.#reader.accept();
      this.#complete();
      return;
    } else if (kind === "content") {
      const shown = this.#reader.shown(event);
      this.#begin();
      this.#writer.pass(shown);
    } else if (kind === "preamble" && !this.#writer.isBegun) this.#writer.hold(event);
    else if (kind === "preamble") this.#writer.pass(this.#reader.shown(event));
    else this.#reader.accept();
    this.#awaitEnd();
  }

  /** While the client is behind, nothing is read: usage that has arrived would be missed. */
  #awaitEnd(): void {
    if (this.#closed || this.#intake.isHeld) this.#ending.stop();
    else this.#ending.restart(this.#reader);
  }

  /** Writes only the continuation of the text that the previous attempt delivered. */
  #compare(kind: EventKind, matcher: ResumeMatcher): void {
    if (kind === "end") throw differs();
    if (kind !== "content" && kind !== "preamble") {
      this.#reader.accept();
      return;
    }
    if (kind === "content") this.#markContent();
    const texts = matcher.take(this.#reader.parts);
    if (texts.some((text) => text !== "")) this.#writer.resume(texts);
    else this.#reader.accept();
  }

  /** Records the first content of this attempt. */
  #markContent(): void {
    if (this.#hasContent) return;
    this.#hasContent = true;
    clearTimeout(this.#firstToken);
    this.#silence.allow(this.#options.silenceMs);
    this.#attempt.firstByte();
  }

  #begin(): void {
    if (this.#writer.isBegun) return;
    this.#markContent();
    this.#writer.begin(this.#head?.responseKey);
  }

  #complete(): void {
    if (this.#resumed && !this.#resumed.isOver) {
      this.#fail(differs());
      return;
    }
    if (!this.#close()) return;
    if (!this.#isEnded) this.#lingering = setTimeout(() => this.#exchange?.abort(COMPLETE), LINGER_MS);
    const metered = this.#reader.meter(this.#options.countInput);
    // Only a whole answer that never waited for the client shows how fast the provider is.
    if (!this.#resumed && !this.#wait.hasBegun) this.#attempt.answered(this.#reader.usage?.outputTokens ?? 0);
    const answerId = this.#head?.responseKey ?? this.#reader.answerId;
    const { finishReason } = this.#reader;
    const { admitted } = this.#options;
    const closing = memoizeLast(async (bill: Trace) =>
      this.#reader.closing(bill, (await metered).usage, admitted.unproven(bill), admitted.shownCost(bill)),
    );
    // What is held back until the bill is committed would come before the last bytes.
    const { isBegun } = this.#writer;
    const known = { answerId, finishReason, isUndelivered: !isBegun, ...(isBegun && { closing }) };
    const ending = async () => ({ outcome: "completed", ...(await metered), ...known }) as const;
    this.#settle(ending(), async (trace) => {
      const last = await closing(trace);
      this.#begin();
      this.#writer.write(last);
      this.#options.sink.end();
    });
  }

  #fail(failure: AppError): void {
    if (!this.#close()) return;
    this.#exchange?.abort(new Error("the answer failed"));
    const reason = asOfSlowClient(failure, { waitMs: this.#wait.ms, totalMs: this.#attempt.totalMs });
    if (this.#writer.isBegun) this.#delivery.failure ??= reason;
    this.#over.reject(reason);
  }

  /** True on the first call. Aborting an exchange calls `onError` synchronously, which must not end it again. */
  #close(): boolean {
    if (this.#closed) return false;
    this.#closed = true;
    this.#intake.stop();
    clearTimeout(this.#firstToken);
    this.#silence.stop();
    this.#ending.stop();
    return true;
  }

  #settle(ending: Promise<Ending>, then: (trace: Trace) => void | Promise<void>): void {
    this.#settled = true;
    const { billing, admitted } = this.#options;
    const settle = async () => then(await billing.settle(admitted, await ending));
    runFor(this.#context, settle).then(this.#over.resolve, this.#over.reject);
  }
}
