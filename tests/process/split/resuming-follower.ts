import { ask, type Following, followSocket } from "../../support/clients/graph-client.ts";
import { until } from "../../support/until.ts";
import { type BalanceEvent, balanceChanged, eventsOf } from "./balance-followers.ts";

/** A client that subscribes again after its last cursor, at any running gateway, whenever its subscription ends. */
export class ResumingFollower {
  readonly #origins: readonly [string, string];
  readonly #key: string;
  readonly #failures: string[] = [];
  readonly #events = new Map<string, BalanceEvent>();
  #following: Following | undefined;
  #cursor: string | undefined;
  #isOver = false;
  #keeping: Promise<void> = Promise.resolve();

  private constructor(origins: readonly [string, string], key: string) {
    this.#origins = origins;
    this.#key = key;
  }

  /** Follows the balance of the account of `key` through both gateways. */
  static async start(origins: readonly [string, string], key: string): Promise<ResumingFollower> {
    const follower = new ResumingFollower(origins, key);
    // A process that has just started on a busy machine may still wait for its database.
    await until(async () => {
      const { data, errors } = await ask(origins[0], key, "{ eventCursor }");
      if (errors) throw new Error(JSON.stringify(errors));
      follower.#cursor = data.eventCursor;
    });
    follower.#keeping = follower.#keep();
    return follower;
  }

  /** The ids of the events of payments that it has received. */
  settlements(): Set<string> {
    if (this.#following) this.#take(this.#following);
    const settled = [...this.#events.values()].filter(({ cause }) => cause === "SETTLEMENT");
    return new Set(settled.map(({ id }) => id));
  }

  /** The messages with which the servers ended its subscriptions. */
  get failures(): readonly string[] {
    return this.#failures;
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#following?.stop();
    await this.#keeping;
  }

  async #keep(): Promise<void> {
    for (let n = 0; !this.#isOver; n++) {
      const origin = this.#origins[n % 2 === 0 ? 1 : 0];
      const following = await followSocket(origin, this.#key, balanceChanged(this.#cursor));
      this.#following = following;
      await following.ended;
      this.#take(following);
      for (const { message } of following.failure ?? []) this.#failures.push(message);
      await following.stop();
    }
  }

  #take(following: Following): void {
    for (const event of eventsOf(following)) {
      this.#events.set(event.id, event);
      this.#cursor = event.cursor;
    }
  }
}
