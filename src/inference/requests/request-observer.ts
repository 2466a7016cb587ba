/** An ended inference request, as reported to metrics. */
export type EndedRequest = {
  readonly serviceType: string;
  readonly model: string;
  /** `completed`, `aborted`, or an error code. */
  readonly outcome: string;
  readonly inputTokens: number | undefined;
  readonly outputTokens: number | undefined;
  /** Number of attempts at providers. */
  readonly tries: number;
  readonly firstByteMs: number | undefined;
  readonly durationMs: number;
};

/** Receives every ended request. Must be quick and must not throw. */
export type RequestObserver = { ended(request: EndedRequest): void };
