import { setTimeout as sleep } from "node:timers/promises";

/** The properties of a request that decide whether it may be sent again. */
type Sending = {
  readonly timeoutMs: number;
  /** Whether it has side effects: then it is sent again only when it cannot have arrived. */
  readonly mutates: boolean;
  readonly signal: AbortSignal | undefined;
};

const FIRST_PAUSE_MS = 25;
const MAX_PAUSE_MS = 400;

/** The connection was never established. */
const UNSENT = new Set(["ECONNREFUSED", "EHOSTUNREACH", "ENOTFOUND", "EAI_AGAIN"]);
/** The connection broke before the response. */
const CUT = new Set(["ECONNRESET", "EPIPE", "UND_ERR_SOCKET"]);

/**
 * Retries requests while a process is being replaced: a request that finds no listener is sent again, within its own
 * deadline, until the subgraph listens. A subgraph unreachable for longer than `windowMs` is no longer retried:
 * requests then fail at once, until the first one that succeeds.
 */
export class RestartRetry {
  readonly #windowMs: number;
  #lostAtMs: number | undefined;

  constructor(windowMs: number) {
    this.#windowMs = windowMs;
  }

  /** Sends with `post`, which receives the remaining time. Throws the error of the last attempt. */
  async reach<T>(
    post: (timeoutMs: number) => Promise<T>,
    { timeoutMs, mutates, signal }: Sending,
  ): Promise<T> {
    const deadline = performance.now() + timeoutMs;
    for (let attempts = 0; ; attempts++) {
      try {
        const answer = await post(Math.max(1, Math.ceil(deadline - performance.now())));
        this.#lostAtMs = undefined;
        return answer;
      } catch (reason) {
        const code = codeOf(reason);
        const isLost = UNSENT.has(code) || CUT.has(code);
        // A subgraph that answers late, or whose client leaves, is not restarting: its next loss begins a new window.
        if (!isLost) throw reason;
        const mayRepeat = UNSENT.has(code) || !mutates;
        const now = performance.now();
        this.#lostAtMs ??= now;
        const until = Math.min(deadline, this.#lostAtMs + this.#windowMs);
        const pauseMs = Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** attempts) * (0.5 + Math.random() / 2);
        if (!mayRepeat || now + pauseMs >= until || signal?.aborted) throw reason;
        await sleep(pauseMs, undefined, signal && { signal }).catch(() => {
          throw reason;
        });
      }
    }
  }
}

function codeOf(reason: unknown): string {
  const { code, cause } = Object(reason);
  return String(code ?? Object(cause).code ?? "");
}
