import type { GraphLimits } from "../src/graph-limits.ts";

/** What kind of connection: a socket carries many operations, a stream one or a few. */
export type ConnectionKind = "sockets" | "streams";

/** Counts the open connections of a process, and of each owner by kind (promises P8, F34). */
export class ConnectionCaps {
  readonly #limits: Pick<GraphLimits, "connections" | "socketsPerKey" | "streamsPerKey">;
  readonly #owned = new Map<string, number>();
  #open = 0;

  constructor(limits: Pick<GraphLimits, "connections" | "socketsPerKey" | "streamsPerKey">) {
    this.#limits = limits;
  }

  /** How many connections are open. */
  get open(): number {
    return this.#open;
  }

  /** Takes a place among all connections. Undefined when there is none; else it is given back by the function. */
  enter(): (() => void) | undefined {
    if (this.#open >= this.#limits.connections) return undefined;
    this.#open += 1;
    return once(() => {
      this.#open -= 1;
    });
  }

  /** Takes a place among the owner's connections of a kind, in the same way. */
  take(kind: ConnectionKind, owner: string): (() => void) | undefined {
    const key = `${kind} ${owner}`;
    const most = kind === "sockets" ? this.#limits.socketsPerKey : this.#limits.streamsPerKey;
    const open = this.#owned.get(key) ?? 0;
    if (open >= most) return undefined;
    this.#owned.set(key, open + 1);
    return once(() => {
      const left = (this.#owned.get(key) ?? 1) - 1;
      if (left > 0) this.#owned.set(key, left);
      else this.#owned.delete(key);
    });
  }
}

function once(run: () => void): () => void {
  let isDone = false;
  return () => {
    if (!isDone) run();
    isDone = true;
  };
}
