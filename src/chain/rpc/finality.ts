import { BlockNotFoundError, type PublicClient } from "viem";
import { toBlock } from "./chain-block.ts";
import { isBusy, isRefusal, isUnsupported } from "./rpc-errors.ts";

/**
 * Reads the newest `finalized` block. Money is credited by it, so only an endpoint that does not know the tag counts as
 * one without it: a rate limit, an internal error or a node that was just restarted must not replace finality by depth.
 */
export class Finality {
  readonly #client: PublicClient;
  /** The newest number that was read: a final block stays final. */
  #newest: bigint | undefined;

  constructor(client: PublicClient) {
    this.#client = client;
  }

  /** The number of the block, undefined if the endpoint does not support the tag. Throws what viem throws. */
  async read(): Promise<bigint | undefined> {
    try {
      const { number } = toBlock(await this.#client.getBlock({ blockTag: "finalized" }));
      this.#newest = number;
      return number;
    } catch (error) {
      if (isUnsupported(error)) return undefined;
      if (error instanceof BlockNotFoundError) return this.#newest;
      if (!isRefusal(error)) throw error;
      if (this.#newest === undefined && isBusy(error)) throw error;
      return this.#newest;
    }
  }
}
