import { AppError } from "../../kernel/errors.ts";
import { DeliveredText } from "../chat/delivered-text.ts";
import type { ProviderExchange, ProviderListener } from "../providers/provider.client.ts";
import type { AttemptOptions } from "./attempt.ts";
import { type Delivery, LEFT, StreamAttempt } from "./stream-attempt.ts";
import type { StreamOptions } from "./stream-options.ts";

/**
 * Passes the events of one try after the other on to a client, byte for byte, and meters beside it. Until the first
 * content nothing is written, so that whatever fails by then can be tried elsewhere. From then on there is another try
 * only where streams are resumed, and of it nothing is written but what goes on from there. The last event is written
 * when the bill is committed.
 */
export class StreamRelay {
  readonly #terms: StreamOptions;
  readonly #abort = new AbortController();
  readonly #delivery: Delivery;
  #current: StreamAttempt | undefined;
  #isBroken = false;

  constructor(terms: StreamOptions) {
    this.#terms = terms;
    this.#delivery = { by: undefined, transcript: terms.resumes ? new DeliveredText() : undefined };
    const { sink } = terms;
    sink.onClose(() => this.#onClientLeft());
    sink.onDrain(() => this.#current?.onDrain());
    if (sink.isClosed()) this.#onClientLeft();
  }

  /** Aborts when the client leaves. */
  get left(): AbortSignal {
    return this.#abort.signal;
  }

  /** Whether the bill was made, or is being made. */
  get isSettled(): boolean {
    return this.#isBroken || (this.#current?.isSettled ?? false);
  }

  /** Whether the client was given a part of the answer. */
  get isBegun(): boolean {
    return this.#delivery.by !== undefined;
  }

  /** Whether another provider may be asked now. */
  get mayGoOn(): boolean {
    return !this.isBegun || (this.#delivery.transcript?.isRepeatable ?? false);
  }

  /** One try. Resolves when it is over and billed; rejects with what it failed by. */
  async run(
    attempt: AttemptOptions,
    post: (listener: ProviderListener) => Promise<ProviderExchange>,
  ): Promise<void> {
    const current = new StreamAttempt(this.#terms, attempt, this.#delivery);
    this.#current = current;
    const exchange = await post(current);
    if (this.left.aborted) exchange.abort(LEFT);
    await current.follow(exchange);
  }

  /** Ends an answer that was begun and does not go on: bills what was delivered, and tells so in the stream. */
  async breakOff(error: unknown): Promise<void> {
    const { by, failure } = this.#delivery;
    if (!by) throw new Error("nothing was delivered yet");
    this.#isBroken = true;
    const { admitted, sink } = this.#terms;
    const { provider, reader } = by;
    const why = failure ?? error;
    await admitted.settle({
      outcome: this.left.aborted ? "aborted" : "failed",
      ...(!this.left.aborted && { errorCode: why instanceof AppError ? why.code : "internal_error" }),
      provider,
      ...(await by.usage()),
    });
    if (!this.left.aborted) sink.write(reader.broken());
    sink.end();
  }

  #onClientLeft(): void {
    this.#abort.abort();
    this.#current?.onClientLeft();
  }
}
