import type { PublicClient } from "viem";
import { AppError } from "../../kernel/errors.ts";
import { type Hex, lowerHex } from "../../kernel/text/hex.ts";
import { daSignersAbi } from "../abi/da-signers.ts";
import { addressOf, type Network } from "../networks.ts";
import { contractError } from "../rpc/contract-error.ts";

/** A data availability signer: its socket address, and its BLS keys as points of the curve's two groups. */
export type DaSigner = {
  /** In lower case. */
  readonly account: Hex;
  readonly socket: string;
  readonly publicKeyG1: { readonly x: bigint; readonly y: bigint };
  /** Each coordinate is `[1] * i + [0]`. */
  readonly publicKeyG2: { readonly x: readonly bigint[]; readonly y: readonly bigint[] };
};

const MAX_SIGNERS = 100;
const MAX_ROWS = 2 ** 32;

/**
 * Reads the DASigners precompile (SPEC 4.4). Every read throws `contract_not_found` on a chain without it,
 * `contract_refused` when the precompile reverts, for example for a future epoch, and `chain_error` when the RPC
 * fails.
 */
export class DaSignersClient {
  readonly #client: PublicClient;
  readonly #network: Network;

  constructor(client: PublicClient, network: Network) {
    this.#client = client;
    this.#network = network;
  }

  /** The precompile's address. Throws `contract_not_found`. */
  address(): Hex {
    return addressOf(this.#network, "daSigners");
  }

  epochNumber(): Promise<bigint> {
    return this.#read((contract) => this.#client.readContract({ ...contract, functionName: "epochNumber" }));
  }

  /** The number of quorums of an epoch. */
  quorumCount(epoch: bigint): Promise<bigint> {
    return this.#read((contract) =>
      this.#client.readContract({ ...contract, functionName: "quorumCount", args: [epoch] }),
    );
  }

  isSigner(account: Hex): Promise<boolean> {
    return this.#read((contract) =>
      this.#client.readContract({ ...contract, functionName: "isSigner", args: [account] }),
    );
  }

  /** The signers of 1 to 100 accounts, in input order; throws `invalid_parameter` for any other number. */
  async signers(accounts: readonly Hex[]): Promise<readonly DaSigner[]> {
    if (accounts.length < 1 || accounts.length > MAX_SIGNERS)
      throw new AppError("invalid_parameter", `Request 1 to ${MAX_SIGNERS} signers at a time.`, {
        param: "accounts",
      });
    const rows = await this.#read((contract) =>
      this.#client.readContract({ ...contract, functionName: "getSigner", args: [accounts] }),
    );
    return rows.map(({ signer, socket, pkG1, pkG2 }) => ({
      account: lowerHex(signer),
      socket,
      publicKeyG1: { x: pkG1.X, y: pkG1.Y },
      publicKeyG2: { x: pkG2.X, y: pkG2.Y },
    }));
  }

  /** The account of each row of a quorum, in lower case; an account may have several rows. */
  async quorum(epoch: bigint, quorumId: bigint): Promise<readonly Hex[]> {
    const rows = await this.#read((contract) =>
      this.#client.readContract({ ...contract, functionName: "getQuorum", args: [epoch, quorumId] }),
    );
    return rows.map(lowerHex);
  }

  /** The account of one row of a quorum. */
  quorumRow(epoch: bigint, quorumId: bigint, rowIndex: number): Promise<Hex> {
    if (!Number.isInteger(rowIndex) || rowIndex < 0 || rowIndex >= MAX_ROWS)
      throw new AppError("invalid_parameter", "A row index must be an integer of 0 or more.", {
        param: "rowIndex",
      });
    return this.#read((contract) =>
      this.#client.readContract({
        ...contract,
        functionName: "getQuorumRow",
        args: [epoch, quorumId, rowIndex],
      }),
    );
  }

  /** Whether an account is registered for an epoch. */
  registeredEpoch(account: Hex, epoch: bigint): Promise<boolean> {
    return this.#read((contract) =>
      this.#client.readContract({ ...contract, functionName: "registeredEpoch", args: [account, epoch] }),
    );
  }

  async #read<T>(read: (contract: { address: Hex; abi: typeof daSignersAbi }) => Promise<T>): Promise<T> {
    try {
      return await read({ address: this.address(), abi: daSignersAbi });
    } catch (error) {
      throw contractError("DASigners", error);
    }
  }
}
