import { setTimeout as sleep } from "node:timers/promises";
import { detached } from "../kernel/tracing.ts";
import type { Bus, EventStream } from "./bus.ts";
import type { DomainEvent, Topic } from "./topics.ts";

type Dependencies<T extends Topic> = {
  readonly bus: Pick<Bus, "subscribe">;
  readonly topic: T;
  /** Receives every event. It must not throw. */
  readonly onEvent: (event: DomainEvent<T>) => void;
  /** Called when subscribing failed or the bus ended the stream. The listener subscribes again after a second. */
  readonly onLost: (error: unknown) => void;
};

const RETRY_MS = 1_000;

/**
 * Receives the events of a topic as they arrive, until `stop`. It misses events published while the bus is down: use
 * it only as a wake-up signal beside polling.
 */
export class BusListener<T extends Topic> {
  readonly #dependencies: Dependencies<T>;
  readonly #stopping = new AbortController();
  #stream: EventStream<T> | undefined;
  #listening: Promise<void> | undefined;

  constructor(dependencies: Dependencies<T>) {
    this.#dependencies = dependencies;
  }

  start(): void {
    this.#listening ??= detached(() => this.#listen());
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#stream?.return?.();
    await this.#listening;
  }

  async #listen(): Promise<void> {
    const { bus, topic, onEvent, onLost } = this.#dependencies;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        this.#stream = await bus.subscribe({ topic });
        if (signal.aborted) await this.#stream.return?.();
        for await (const event of this.#stream) onEvent(event as DomainEvent<T>);
      } catch (error) {
        onLost(error);
      }
      await sleep(RETRY_MS, undefined, { signal }).catch(() => {});
    }
  }
}
