import { Mutex } from "../../src/kernel/async/batch.ts";
import { overloaded, Turns, takeTurn } from "../http/turns.ts";

/** Introspections that wait for their turn. */
const MAX_WAITING = 5_000;

/**
 * The introspections of a process, one after another: each answer is most of a megabyte, and takes ten times as much
 * while it is made.
 */
export class Introspections {
  readonly #mutex = new Mutex();
  readonly #turns = new Turns(1);
  #waiting = 0;

  /** Runs an introspection when those before it have ended. Throws `overloaded` if too many wait. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#waiting >= MAX_WAITING) throw overloaded();
    this.#waiting++;
    try {
      return await this.#mutex.run(async () => {
        await takeTurn(this.#turns);
        return work();
      });
    } finally {
      this.#waiting--;
    }
  }

  /** Records a new connection, which comes before introspections. */
  accepted(): void {
    this.#turns.accepted();
  }
}
