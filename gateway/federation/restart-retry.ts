import { setTimeout as sleep } from "node:timers/promises";

/** One request, as far as it matters to whether it may be sent again. */
type Sending = {
  readonly timeoutMs: number;
  /** Whether it changes something: then it is sent again only when it cannot have arrived. */
  readonly mutates: boolean;
  readonly signal: AbortSignal | undefined;
};

const FIRST_PAUSE_MS = 25;
const MAX_PAUSE_MS = 400;

/** The connection was never made. */
const UNSENT = new Set(["ECONNREFUSED", "EHOSTUNREACH", "ENOTFOUND", "EAI_AGAIN"]);
/** The connection broke before there was an answer. */
const CUT = new Set(["ECONNRESET", "EPIPE", "UND_ERR_SOCKET"]);

/**
 * Carries requests over the moment in which a process is replaced: what finds no listener is sent again, within its own
 * deadline, until the subgraph listens. Who has been out of reach for longer than `windowMs` is not waited for any more:
 * requests then fail at once, and the first that gets through ends that.
 */
export class RestartRetry {
  readonly #windowMs: number;
  #lostAtMs: number | undefined;

  constructor(windowMs: number) {
    this.#windowMs = windowMs;
  }

  /** Sends with `post`, which is told how much time is left. Throws what its last try threw. */
  async reach<T>(
    post: (timeoutMs: number) => Promise<T>,
    { timeoutMs, mutates, signal }: Sending,
  ): Promise<T> {
    const deadline = performance.now() + timeoutMs;
    for (let tries = 0; ; tries++) {
      try {
        const answer = await post(Math.max(1, Math.ceil(deadline - performance.now())));
        this.#lostAtMs = undefined;
        return answer;
      } catch (reason) {
        const code = codeOf(reason);
        const mayRepeat = UNSENT.has(code) || (CUT.has(code) && !mutates);
        const now = performance.now();
        this.#lostAtMs ??= now;
        const until = Math.min(deadline, this.#lostAtMs + this.#windowMs);
        const pauseMs = Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** tries) * (0.5 + Math.random() / 2);
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
