import { BlockNotFoundError, type PublicClient } from "viem";
import { toBlock } from "./chain-block.ts";
import type { EndpointStatus } from "./rpc-endpoint.ts";
import { isBusy, isRefusal, isUnsupported } from "./rpc-errors.ts";

/**
 * Reads the newest `finalized` block. Money is credited by it, so only an endpoint that does not know the tag counts as
 * one without it: a rate limit, an internal error or a node that was just restarted must not replace finality by depth.
 */
export class Finality {
  readonly #client: PublicClient;
  readonly #endpoints: () => readonly EndpointStatus[];
  /** The newest number that was read: a final block stays final. */
  #newest: bigint | undefined;

  /** `endpoints` are those that the client reads from. */
  constructor(client: PublicClient, endpoints: () => readonly EndpointStatus[]) {
    this.#client = client;
    this.#endpoints = endpoints;
  }

  /** The number of the block, undefined if no endpoint supports the tag. Throws what viem throws. */
  async read(): Promise<bigint | undefined> {
    try {
      const { number } = toBlock(await this.#client.getBlock({ blockTag: "finalized" }));
      this.#newest = number;
      return number;
    } catch (error) {
      if (isUnsupported(error)) return this.#isAnyAway ? this.#newest : undefined;
      if (error instanceof BlockNotFoundError) return this.#newest;
      if (!isRefusal(error)) throw error;
      if (this.#newest === undefined && isBusy(error)) throw error;
      return this.#newest;
    }
  }

  /** Whether an endpoint could not be reached: it may be the one that supports the tag, and has named that block. */
  get #isAnyAway(): boolean {
    return this.#endpoints().some(({ state }) => state === "unreachable" || state === "unchecked");
  }
}
