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
  /** Also what it could burn at first. */
  readonly initialSupply: bigint;
  readonly supply: bigint;
  /** What it may still mint; never below 0, also where a cap was lowered below what is in use. */
  readonly remaining: bigint;
};

/**
 * Reads the precompile WrappedOGBase (SPEC 4.4). Every read throws `contract_not_found` on a chain without it, and
 * `chain_error` when the RPC fails. Minting and burning are for the wrapped token's contract alone.
 */
export class WrappedBaseClient {
  readonly #client: PublicClient;
  readonly #network: Network;

  constructor(client: PublicClient, network: Network) {
    this.#client = client;
    this.#network = network;
  }

  /** Where the precompile is. Throws `contract_not_found`. */
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

  /** A minter's quota; all 0 for one that has none. */
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
