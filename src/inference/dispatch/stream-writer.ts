import type { AppError } from "../../kernel/errors.ts";
import type { Metered } from "../billing/usage.ts";
import type { DeliveredText, Piece } from "../chat/delivered-text.ts";
import { ProviderFailure } from "../providers/exchange/provider-failure.ts";
import type { Provider } from "../providers/provider.ts";
import type { StreamOptions, StreamReader } from "./stream-options.ts";

/** What the client has received of one answer, over all attempts. */
export type Delivery = {
  /** The provider whose content was written last; undefined before the first write. */
  by: { readonly provider: Provider; readonly reader: StreamReader; usage(): Promise<Metered> } | undefined;
  /** The written text, if another attempt may resume after it. */
  readonly text: DeliveredText | undefined;
  /** The first failure that interrupted the answer. */
  failure?: AppError;
};

const MAX_PREAMBLE_BYTES = 1_048_576;

/** Writes the events of one attempt to the client. Events before the first content are held back until `begin`. */
export class StreamWriter {
  readonly #options: StreamOptions;
  readonly #delivery: Delivery;
  readonly #provider: Provider;
  readonly #reader: StreamReader;
  readonly #on: { behind(): void; stalled(): void };
  #preamble: { readonly event: Buffer; readonly pieces: readonly Piece[] | undefined }[] = [];
  #preambleBytes = 0;
  #stall: NodeJS.Timeout | undefined;

  /** `on.behind` is called when the client reads too slowly, `on.stalled` when it has not caught up in `stallMs`. */
  constructor(
    options: StreamOptions,
    delivery: Delivery,
    by: { readonly provider: Provider; readonly reader: StreamReader },
    on: { behind(): void; stalled(): void },
  ) {
    this.#options = options;
    this.#delivery = delivery;
    this.#provider = by.provider;
    this.#reader = by.reader;
    this.#on = on;
  }

  /** Whether the client has received part of the answer, from any attempt. */
  get isBegun(): boolean {
    return this.#delivery.by !== undefined;
  }

  /** Holds back an event without content. Throws a `ProviderFailure` if they become too long. */
  hold(event: Buffer): void {
    const pieces = this.#delivery.text ? this.#reader.parts : undefined;
    this.#preamble.push({ event: this.#reader.shown(event), pieces });
    this.#reader.accept();
    this.#preambleBytes += event.length;
    if (this.#preambleBytes > MAX_PREAMBLE_BYTES)
      throw new ProviderFailure("malformed", { message: "The provider's stream has no content." });
  }

  /** Starts the client's stream with the events that were held back. */
  begin(responseKey: string | undefined): void {
    this.#claim();
    const { admitted, sink } = this.#options;
    admitted.markDelivered();
    sink.start({ responseKey, cache: admitted.cacheUse });
    if (this.#preamble.length > 0) this.write(Buffer.concat(this.#preamble.map(({ event }) => event)));
    for (const { pieces } of this.#preamble) this.#delivery.text?.add(pieces);
    this.#preamble = [];
  }

  /** Writes the last event that was read, as the client sees it. */
  pass(shown: Buffer): void {
    if (this.#delivery.by?.reader !== this.#reader) this.#claim();
    this.#reader.accept();
    this.#delivery.text?.add(this.#reader.parts);
    this.write(shown);
  }

  /** Writes the last event that was read with `texts`, its continuation of the delivered text, in place of its own. */
  resume(texts: readonly string[]): void {
    const shown = this.#reader.render(texts);
    this.#claim();
    this.#reader.accept();
    this.write(shown);
    const pieces = this.#reader.parts?.map(({ channel }, at) => ({ channel, text: texts[at] ?? "" }));
    this.#delivery.text?.add(pieces);
  }

  write(bytes: Buffer): void {
    if (this.#options.sink.write(bytes) || this.#stall) return;
    this.#on.behind();
    this.#stall = setTimeout(() => this.#on.stalled(), this.#options.stallMs);
  }

  /** Records that the client has caught up. False if it was not behind. */
  markDrained(): boolean {
    if (!this.#stall) return false;
    this.stop();
    return true;
  }

  /** Stops waiting for the client. */
  stop(): void {
    clearTimeout(this.#stall);
    this.#stall = undefined;
  }

  /** Marks this attempt as the one whose content the client receives. */
  #claim(): void {
    const reader = this.#reader;
    const usage = () => reader.meter(this.#options.countInput);
    this.#delivery.by = { provider: this.#provider, reader, usage };
  }
}
