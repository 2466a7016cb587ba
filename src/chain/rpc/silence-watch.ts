import { AppError } from "../../kernel/errors.ts";
import { detached } from "../../kernel/tracing.ts";

type Options = {
  /** Sends a small call; resolves when there is any response to it. Called after a second of silence. */
  readonly probe: () => Promise<unknown>;
  /** How long the probe may take, in milliseconds. */
  readonly patienceMs: () => number;
};

const TICK_MS = 500;
const PROBE_TICKS = 2;

/**
 * Gives up the waiting calls of an endpoint that has stopped answering, long before their timeouts. A slow call is not
 * given up while the endpoint answers anything else: after a second without a response it gets a small call, and only
 * if that is not answered in time either, the endpoint is silent. Silence is counted in turns of a timer, so a stall
 * of this process is not taken for one of the endpoint.
 */
export class SilenceWatch {
  readonly #options: Options;
  readonly #waiting = new Set<() => void>();
  #timer: NodeJS.Timeout | undefined;
  #silentTicks = 0;

  constructor(options: Options) {
    this.#options = options;
  }

  /** Resolves or rejects as `call`, or rejects with `chain_error` once the endpoint is silent. */
  watch<T>(call: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const giveUp = () => reject(new AppError("chain_error", "The chain's RPC does not answer."));
      if (this.#waiting.size === 0) this.#silentTicks = 0;
      this.#waiting.add(giveUp);
      this.#timer ??= detached(() => setInterval(() => this.#tick(), TICK_MS));
      const settled = () => {
        this.#silentTicks = 0;
        this.#remove(giveUp);
      };
      call.then(resolve, reject).finally(settled);
    });
  }

  #tick(): void {
    this.#silentTicks += 1;
    const { probe, patienceMs } = this.#options;
    if (this.#silentTicks === PROBE_TICKS)
      probe().then(
        () => {
          this.#silentTicks = 0;
        },
        // The calls themselves show why the endpoint fails.
        () => {},
      );
    if (this.#silentTicks < PROBE_TICKS + patienceMs() / TICK_MS) return;
    for (const giveUp of [...this.#waiting]) {
      giveUp();
      this.#remove(giveUp);
    }
  }

  #remove(giveUp: () => void): void {
    this.#waiting.delete(giveUp);
    if (this.#waiting.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
