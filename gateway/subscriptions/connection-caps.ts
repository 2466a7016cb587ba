import type { GraphLimits } from "../../src/graph-limits.ts";

/** The kind of connection: a socket carries many operations, a stream one or a few. */
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

  /** The number of open connections. */
  get open(): number {
    return this.#open;
  }

  /** Acquires a connection slot of the process. Returns the function that releases it; undefined if none is free. */
  enter(): (() => void) | undefined {
    if (this.#open >= this.#limits.connections) return undefined;
    this.#open += 1;
    return once(() => {
      this.#open -= 1;
    });
  }

  /** Acquires a slot of a credential for this kind of connection, in the same way. */
  takeOfKey(kind: ConnectionKind, keyId: string): (() => void) | undefined {
    const { socketsPerKey, streamsPerKey } = this.#limits;
    return this.#take(`${kind} ${keyId}`, kind === "sockets" ? socketsPerKey : streamsPerKey);
  }

  /** Acquires a slot of a network address, for clients without a credential, in the same way. */
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
