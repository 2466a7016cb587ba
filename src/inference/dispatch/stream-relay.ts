import { runInTurn } from "../../kernel/async/shared-turns.ts";
import { AppError } from "../../kernel/errors.ts";
import { DeliveredText } from "../chat/delivered-text.ts";
import type { ProviderExchange, ProviderListener } from "../providers/exchange/provider-exchange.ts";
import type { AttemptOptions } from "./attempt.ts";
import { CLIENT_GONE, StreamAttempt } from "./stream-attempt.ts";
import type { StreamOptions } from "./stream-options.ts";
import type { Delivery } from "./stream-writer.ts";

/**
 * Relays the events of successive attempts to a client, byte for byte, and meters them. Nothing is written before the
 * first content, so that an earlier failure can be retried with another provider. After it, there is another attempt
 * only if streams are resumed, and only the continuation of that attempt is written. The last event is written when the
 * bill is committed.
 */
export class StreamRelay {
  readonly #options: StreamOptions;
  readonly #abort = new AbortController();
  readonly #stop = new AbortController();
  readonly #delivery: Delivery;
  #current: StreamAttempt | undefined;
  #isBroken = false;

  constructor(options: StreamOptions) {
    this.#options = options;
    this.#delivery = { by: undefined, text: options.resumes ? new DeliveredText() : undefined };
    const { sink } = options;
    // Leaving takes up to some milliseconds, and thousands of clients leave in one turn where a proxy ends.
    sink.onClose(() => runInTurn(() => this.#onClientLeft()));
    sink.onDrain(() => this.#current?.onDrain());
    if (sink.isClosed()) this.#onClientLeft();
  }

  /** Aborts when the client disconnects. */
  get clientGone(): AbortSignal {
    return this.#abort.signal;
  }

  /** Aborts when the answer is stopped, with the failure as its reason. */
  get stopped(): AbortSignal {
    return this.#stop.signal;
  }

  /** Whether the bill has been made, or is being made. */
  get isSettled(): boolean {
    return this.#isBroken || (this.#current?.isSettled ?? false);
  }

  /** Whether the client has received part of the answer. */
  get isBegun(): boolean {
    return this.#delivery.by !== undefined;
  }

  /** Whether another provider may be tried now. */
  get mayFailOver(): boolean {
    return !this.isBegun || (this.#delivery.text?.isRepeatable ?? false);
  }

  /** Runs one attempt. Resolves when it has ended and is billed; rejects with its failure. */
  async run(
    attempt: AttemptOptions,
    post: (listener: ProviderListener) => Promise<ProviderExchange>,
  ): Promise<void> {
    const current = new StreamAttempt(this.#options, attempt, this.#delivery);
    this.#current = current;
    const exchange = await post(current);
    if (this.clientGone.aborted) exchange.abort(CLIENT_GONE);
    await current.follow(exchange);
  }

  /**
   * Ends the answer with a failure that is not the provider's, so that no other one is tried, also between two attempts.
   */
  stop(failure: AppError): void {
    this.#stop.abort(failure);
    this.#current?.stop(failure);
  }

  /** Ends an interrupted answer: bills the delivered part, and reports the failure in the stream. */
  async breakOff(error: unknown): Promise<void> {
    const { by, failure } = this.#delivery;
    if (!by) throw new Error("nothing was delivered yet");
    this.#isBroken = true;
    const { admitted, billing, sink } = this.#options;
    const { provider, reader } = by;
    const reason = failure ?? error;
    const metered = await by.usage();
    const trace = await billing.settle(admitted, {
      outcome: this.clientGone.aborted ? "aborted" : "failed",
      ...(!this.clientGone.aborted && {
        errorCode: reason instanceof AppError ? reason.code : "internal_error",
      }),
      provider,
      ...metered,
    });
    if (this.clientGone.aborted) return sink.abort();
    sink.write(reader.broken(trace, metered.usage, admitted.shownCost(trace)));
    sink.end();
  }

  #onClientLeft(): void {
    this.#abort.abort();
    this.#current?.onClientLeft();
  }
}
