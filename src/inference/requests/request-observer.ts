/** A request for inference that ended, as far as it is counted. */
export type EndedRequest = {
  readonly serviceType: string;
  readonly model: string;
  /** `completed`, or why it was not: `aborted` or an error code. */
  readonly outcome: string;
  readonly inputTokens: number | undefined;
  readonly outputTokens: number | undefined;
  /** How many times a provider was asked. */
  readonly tries: number;
  readonly firstByteMs: number | undefined;
  readonly durationMs: number;
};

/** Who is told of every request that ended. It must be quick, and must not throw. */
export type RequestObserver = { ended(request: EndedRequest): void };
