import type { Operation } from "./document.ts";
import { ConnectionLost } from "./errors.ts";
import { type Failure, failureOfNetwork } from "./failures.ts";
import { SilenceWatch } from "./silence-watch.ts";
import type { GraphResult, OpenedSubscription, Transport } from "./transport.ts";

/** What a connection reports. After `ended` or `failed` it reports nothing more. */
export type ConnectionReport = {
  opened(): void;
  result(result: GraphResult): void;
  ended(): void;
  failed(failure: Failure): void;
};

/** One attempt of a subscription over a transport, which fails when it falls silent. */
export class Connection {
  readonly #report: ConnectionReport;
  readonly #silence: SilenceWatch;
  #opened: OpenedSubscription | undefined;
  #openedAtMs: number | undefined;
  #isOver = false;

  /** Opens it, once `prepare` has the operation. A callback may come before the constructor returns. */
  constructor(
    transport: Transport,
    prepare: () => Promise<Operation>,
    { silentMs, report }: { readonly silentMs: number; readonly report: ConnectionReport },
  ) {
    this.#report = report;
    this.#silence = new SilenceWatch(silentMs, () => {
      this.#opened?.abandon();
      this.#fail(failureOfNetwork(new Error("nothing arrived for too long")));
    });
    this.#silence.start();
    prepare().then(
      (operation) => this.#isOver || this.#open(transport, operation),
      // An error of this package, or of the caller's `credential` function.
      (error: Error) => this.#fail({ error, canRetry: error instanceof ConnectionLost }),
    );
  }

  /** How long it has been open, milliseconds. */
  get openMs(): number {
    return this.#openedAtMs === undefined ? 0 : Date.now() - this.#openedAtMs;
  }

  /** Ends it. Nothing is reported any more. */
  close(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#silence.stop();
    this.#opened?.stop();
  }

  #open(transport: Transport, operation: Operation): void {
    const opened = transport.subscribe(operation, {
      opened: () => {
        if (this.#isOver || this.#openedAtMs !== undefined) return;
        this.#openedAtMs = Date.now();
        this.#silence.heard();
        this.#report.opened();
      },
      heard: () => this.#silence.heard(),
      next: (result) => {
        if (this.#isOver) return;
        this.#silence.heard();
        this.#report.result(result);
      },
      ended: () => {
        if (this.#isOver) return;
        this.close();
        this.#report.ended();
      },
      failed: (failure) => this.#fail(failure),
    });
    this.#opened = opened;
    if (this.#isOver) opened.stop();
  }

  #fail(failure: Failure): void {
    if (this.#isOver) return;
    this.close();
    this.#report.failed(failure);
  }
}
