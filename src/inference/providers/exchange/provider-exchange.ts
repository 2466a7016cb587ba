import type { Dispatcher } from "undici";
import { retryAfterOf } from "../../../kernel/text/retry-after.ts";
import type { ExchangeHasher } from "./exchange-hasher.ts";
import { DeadlineExceeded, ProviderFailure } from "./provider-failure.ts";
import type { SecretMask } from "./secret-mask.ts";

/** Receives a provider's response, in order: one head, any number of chunks, then an end or an error. */
export type ProviderListener = {
  onHead(head: ProviderHead): void;
  onChunk(chunk: Buffer): void;
  onEnd(): void;
  onError(error: Error): void;
};

/** `responseKey` is the provider's own id of the answer, `ZG-Res-Key`. No other provider header is forwarded. */
export type ProviderHead = {
  readonly status: number;
  readonly contentType: string;
  readonly responseKey: string | undefined;
  /** The delay that the provider requests, milliseconds. */
  readonly retryAfterMs?: number | undefined;
  /** The URL of the provider, which clients do not see; undefined for a stored answer. */
  readonly providerUrl?: string | undefined;
};

/** Controls one exchange. After `abort` the listener receives one `onError`, or nothing if the exchange had ended. */
export type ProviderExchange = { abort(reason: Error): void; pause(): void; resume(): void };

const RESPONSE_KEY = /^[\x21-\x7e]{1,256}$/;

/** An exchange that undici dispatches: its deadlines, and the mask of the credential in the answer. */
export class DispatchedExchange implements Dispatcher.DispatchHandler, ProviderExchange {
  readonly #listener: ProviderListener;
  readonly #deadline: NodeJS.Timeout;
  /** Until a connection is free, undici applies no deadline. */
  readonly #connection: NodeJS.Timeout | undefined;
  readonly #mask: SecretMask;
  readonly #hasher: ExchangeHasher | undefined;
  readonly #providerUrl: string;
  readonly #onRefused: () => void;
  #controller: Dispatcher.DispatchController | undefined;
  #aborted: Error | undefined;
  #done = false;

  constructor(
    listener: ProviderListener,
    given: {
      readonly totalMs: number;
      /** How long to wait for a connection; 0 means only `totalMs` applies. */
      readonly connectionMs: number;
      readonly mask: SecretMask;
      readonly hasher: ExchangeHasher | undefined;
      readonly providerUrl: string;
      onRefused(): void;
    },
  ) {
    this.#listener = listener;
    this.#mask = given.mask;
    this.#hasher = given.hasher;
    this.#providerUrl = given.providerUrl;
    this.#onRefused = given.onRefused;
    const { totalMs, connectionMs } = given;
    this.#deadline = setTimeout(() => this.abort(new DeadlineExceeded()), totalMs);
    if (connectionMs > 0) this.#connection = setTimeout(() => this.abort(noConnection()), connectionMs);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    clearTimeout(this.#connection);
    if (this.#aborted) controller.abort(this.#aborted);
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (status < 200) return;
    if (status === 401 || status === 403) this.#onRefused();
    const encoding = one(headers["content-encoding"]);
    if (encoding !== undefined && encoding !== "identity") {
      controller.abort(new ProviderFailure("malformed", { message: "The provider's answer is encoded." }));
      return;
    }
    this.#listener.onHead({
      status,
      contentType: one(headers["content-type"])?.toLowerCase() ?? "",
      responseKey: this.#responseKeyOf(one(headers["zg-res-key"])),
      retryAfterMs: retryAfterOf(one(headers["retry-after"]), one(headers.date)),
      providerUrl: this.#providerUrl,
    });
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#hasher?.received(chunk);
    this.#emit(this.#mask.push(chunk));
  }

  onResponseEnd(): void {
    if (!this.#finish()) return;
    this.#emit(this.#mask.rest());
    this.#listener.onEnd();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (!this.#finish()) return;
    this.#emit(this.#mask.rest());
    this.#listener.onError(error);
  }

  abort(reason: Error): void {
    if (this.#done || this.#aborted) return;
    this.#aborted = reason;
    if (this.#controller) this.#controller.abort(reason);
    // It waits for a connection, and is not sent once there is one.
    else if (this.#finish()) this.#listener.onError(reason);
  }

  pause(): void {
    this.#controller?.pause();
  }

  resume(): void {
    this.#controller?.resume();
  }

  #emit(bytes: Buffer): void {
    if (bytes.length > 0) this.#listener.onChunk(bytes);
  }

  #responseKeyOf(stated: string | undefined): string | undefined {
    if (stated === undefined || !RESPONSE_KEY.test(stated) || this.#mask.isIn(stated)) return undefined;
    return stated;
  }

  #finish(): boolean {
    if (this.#done) return false;
    this.#done = true;
    clearTimeout(this.#deadline);
    clearTimeout(this.#connection);
    this.#hasher?.end();
    return true;
  }
}

function one(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}

function noConnection(): ProviderFailure {
  return new ProviderFailure("busy", {
    message: "All connections to the provider are in use.",
    cause: new Error("no connection in time"),
  });
}
