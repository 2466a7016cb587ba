import type { Logger } from "../kernel/log.ts";

/**
 * Counts the spans that do not reach the collector, and logs once when exports begin to fail and once when they work
 * again: a failed export happens every second while there are requests.
 */
export class TraceOutage {
  readonly #endpoint: string;
  readonly #log: Logger;
  #isFailing = false;
  #dropped = 0;

  /** `endpoint` is logged, and must contain no credential. */
  constructor(endpoint: string, log: Logger) {
    this.#endpoint = endpoint;
    this.#log = log;
  }

  /** The spans dropped since the start. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Spans were dropped because the queue is full. */
  overflowed(spans: number): void {
    this.#dropped += spans;
  }

  /** The collector accepted an export. */
  accepted(): void {
    if (!this.#isFailing) return;
    this.#isFailing = false;
    this.#log.info({ endpoint: this.#endpoint }, "traces are exported again");
  }

  /** An export failed: its spans are dropped. */
  failed(spans: number, cause: unknown): void {
    this.#dropped += spans;
    if (this.#isFailing) return;
    this.#isFailing = true;
    this.#log.warn(
      { err: cause, endpoint: this.#endpoint },
      "OTEL_EXPORTER_OTLP_ENDPOINT does not accept traces: spans are dropped until it does",
    );
  }
}
