import type { PublicClient } from "viem";
import { type Hex, lowerHex } from "../../kernel/text/hex.ts";
import { wrappedBaseAbi } from "../abi/wrapped-base.ts";
import { addressOf, type Network } from "../networks.ts";
import { contractError } from "../rpc/contract-error.ts";

/** A minter's quota of the wrapped token (SPEC 2.5), neuron. */
export type MinterSupply = {
  /** In lower case. */
  readonly minter: Hex;
  readonly cap: bigint;
  /** The initial supply, which is also the amount that it could burn at first. */
  readonly initialSupply: bigint;
  readonly supply: bigint;
  /** The amount it may still mint; never below 0, even if the cap was lowered below the supply. */
  readonly remaining: bigint;
};

/**
 * Reads the WrappedOGBase precompile (SPEC 4.4). Every read throws `contract_not_found` on a chain without it, and
 * `chain_error` when the RPC fails. Only the wrapped token's contract can mint and burn.
 */
export class WrappedBaseClient {
  readonly #client: PublicClient;
  readonly #network: Network;

  constructor(client: PublicClient, network: Network) {
    this.#client = client;
    this.#network = network;
  }

  /** The precompile's address. Throws `contract_not_found`. */
  address(): Hex {
    return addressOf(this.#network, "wrappedBase");
  }

  /** The wrapped token's contract, in lower case. */
  async wrappedToken(): Promise<Hex> {
    try {
      return lowerHex(await this.#client.readContract({ ...this.#contract(), functionName: "getWA0GI" }));
    } catch (error) {
      throw contractError("WrappedOGBase", error);
    }
  }

  /** A minter's quota; all values are 0 if it has none. */
  async minterSupply(minter: Hex): Promise<MinterSupply> {
    try {
      const { cap, initialSupply, supply } = await this.#client.readContract({
        ...this.#contract(),
        functionName: "minterSupply",
        args: [minter],
      });
      const remaining = cap > supply ? cap - supply : 0n;
      return { minter: lowerHex(minter), cap, initialSupply, supply, remaining };
    } catch (error) {
      throw contractError("WrappedOGBase", error);
    }
  }

  #contract() {
    return { address: this.address(), abi: wrappedBaseAbi } as const;
  }
}
