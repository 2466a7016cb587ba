import { Pulse } from "../../chain/pulse.ts";
import type { EventStream } from "../../events/bus.ts";
import type { EventsService } from "../../events/events.service.ts";
import type { Hex } from "../../kernel/hex.ts";
import type { Logger } from "../../kernel/log.ts";

const LISTEN_AGAIN_MS = 1_000;

type Needs = {
  readonly events: Pick<EventsService, "follow">;
  readonly log: Logger;
  /** Told the root of every file that became whole, in whichever process. */
  readonly finalized: (root: Hex) => void;
};

/** Listens for files that become whole. What it misses, the next poll of the replay sees. */
export class FinalizedWatch {
  readonly #needs: Needs;
  readonly #pulse = new Pulse();
  #stream: EventStream<"file.progressed"> | undefined;
  #loop: Promise<void> | undefined;

  constructor(needs: Needs) {
    this.#needs = needs;
  }

  /** Begins to listen, until `stop`. */
  start(): void {
    this.#loop ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#pulse.stop();
    await this.#stream?.return?.();
    await this.#loop;
  }

  async #run(): Promise<void> {
    const { events, log, finalized } = this.#needs;
    while (!this.#pulse.stopped) {
      try {
        this.#stream = await events.follow({ topic: "file.progressed" });
        if (this.#pulse.stopped) await this.#stream.return?.();
        for await (const { data } of this.#stream)
          if (data.status === "finalized") finalized(data.root as Hex);
      } catch (error) {
        log.warn({ err: error }, "files that become whole are not heard of; they are looked up every second");
      }
      await this.#pulse.wait(LISTEN_AGAIN_MS);
    }
  }
}
