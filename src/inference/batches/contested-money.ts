/** The lines of one account that hold money or try to. */
type Account = {
  readonly held: Set<string>;
  /** Attempts in progress; each resolves with whether it was granted, and never rejects. */
  readonly pending: Map<string, Promise<boolean>>;
  /** How many were granted so far. */
  grants: number;
};

/**
 * Which requests of lines compete for the money of an account in this process. One that was refused need not wait if
 * only such compete that were refused as well: they would wait for each other.
 */
export class ContestedMoney {
  readonly #accounts = new Map<string, Account>();
  /** The requests that were refused while others had money. */
  readonly #contested = new Set<string>();

  /** Runs `place`, which holds money for a request of an account or throws. */
  async hold<T>(account: string, id: string, place: () => Promise<T>): Promise<T> {
    const state = this.#stateOf(account);
    const { grants } = state;
    const hadHeld = state.held.size > 0;
    const placed = place();
    state.pending.set(
      id,
      placed.then(
        () => true,
        () => false,
      ),
    );
    try {
      const result = await placed;
      state.held.add(id);
      state.grants++;
      return result;
    } catch (error) {
      if (hadHeld || state.grants > grants) this.#contested.add(id);
      throw error;
    } finally {
      state.pending.delete(id);
    }
  }

  /**
   * Whether other requests of the account had money while this one was refused, have some, or get some of what they
   * try to hold now: what they do not need comes back when they end.
   */
  async isContested(account: string, id: string): Promise<boolean> {
    const state = this.#accounts.get(account);
    if (this.#contested.has(id) || (state?.held.size ?? 0) > 0) return true;
    return (await Promise.all(state?.pending.values() ?? [])).some((isGranted) => isGranted);
  }

  /** The money of a request was charged or came back. */
  release(account: string, id: string): void {
    const state = this.#accounts.get(account);
    state?.held.delete(id);
    this.#contested.delete(id);
    if (state && state.held.size + state.pending.size === 0) this.#accounts.delete(account);
  }

  #stateOf(account: string): Account {
    const known = this.#accounts.get(account);
    if (known) return known;
    const state: Account = { held: new Set(), pending: new Map(), grants: 0 };
    this.#accounts.set(account, state);
    return state;
  }
}
