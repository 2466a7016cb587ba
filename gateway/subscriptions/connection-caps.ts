import type { GraphLimits } from "../../src/graph-limits.ts";

/** What kind of connection: a socket carries many operations, a stream one or a few. */
export type ConnectionKind = "sockets" | "streams";

type ConnectionLimits = Pick<
  GraphLimits,
  "connections" | "connectionsPerAddress" | "socketsPerKey" | "streamsPerKey"
>;

/** Counts the open connections of a process, and of each owner by kind (promises P8, F34). */
export class ConnectionCaps {
  readonly #limits: ConnectionLimits;
  readonly #owned = new Map<string, number>();
  #open = 0;

  constructor(limits: ConnectionLimits) {
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

  /** Takes a place among the connections of a credential, by their kind, in the same way. */
  takeOfKey(kind: ConnectionKind, keyId: string): (() => void) | undefined {
    const { socketsPerKey, streamsPerKey } = this.#limits;
    return this.#take(`${kind} ${keyId}`, kind === "sockets" ? socketsPerKey : streamsPerKey);
  }

  /** Takes a place among those from one network address without a credential, in the same way. */
  takeOfAddress(address: string): (() => void) | undefined {
    return this.#take(`address ${address}`, this.#limits.connectionsPerAddress);
  }

  #take(key: string, most: number): (() => void) | undefined {
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
