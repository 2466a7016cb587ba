import {
  type Abi,
  BaseError,
  type ContractFunctionArgs,
  type ContractFunctionName,
  encodeFunctionData,
  InsufficientFundsError,
  type PublicClient,
} from "viem";
import { AppError } from "../../kernel/errors.ts";
import { type Hex, lowerHex } from "../../kernel/text/hex.ts";
import { contractError } from "../rpc/contract-error.ts";
import type { PreparedTransaction } from "./prepared-transaction.ts";

/** A contract call for the caller's wallet to send. */
export type WantedCall<
  abi extends Abi = Abi,
  name extends ContractFunctionName<abi, "nonpayable" | "payable"> = ContractFunctionName<
    abi,
    "nonpayable" | "payable"
  >,
> = {
  readonly to: Hex;
  readonly abi: abi;
  readonly functionName: name;
  readonly args: ContractFunctionArgs<abi, "nonpayable" | "payable", name>;
  /** The value to send, neuron. */
  readonly value?: bigint;
  /** The sending wallet; if given, the call is simulated on the chain first. */
  readonly from?: Hex | undefined;
  /** Warnings for the sender, in whole sentences. */
  readonly warnings?: readonly string[];
};

/** Prepares unsigned transactions: it never sends anything and holds no key. */
export class TransactionBuilder {
  readonly #client: PublicClient;
  readonly #chainId: number;

  constructor({ client, chainId }: { readonly client: PublicClient; readonly chainId: number }) {
    this.#client = client;
    this.#chainId = chainId;
  }

  /**
   * A transaction for a wallet. With `from` it is simulated on the current chain state: throws `contract_refused` with
   * the contract's own error, `contract_not_found` if there is no such contract, or `chain_error`. Without `from` the
   * chain is not called.
   */
  async prepare<const abi extends Abi, name extends ContractFunctionName<abi, "nonpayable" | "payable">>(
    call: WantedCall<abi, name>,
  ): Promise<PreparedTransaction>;
  // The body has the types of a call of any contract: viem's own cannot be followed through a generic ABI.
  async prepare({ value = 0n, warnings = [], from, ...call }: WantedCall): Promise<PreparedTransaction> {
    const { to, abi, functionName, args } = call;
    const data = encodeFunctionData({ abi, functionName, args });
    if (from !== undefined) await this.#simulate({ ...call, value, from });
    return {
      chainId: this.#chainId,
      from: from === undefined ? null : lowerHex(from),
      to: lowerHex(to),
      data,
      value,
      warnings,
    };
  }

  async #simulate({ to: address, abi, functionName, args, value, from: account }: WantedCall): Promise<void> {
    try {
      // A call of an address without code succeeds, and its value would be lost.
      const [code] = await Promise.all([
        this.#client.getCode({ address }),
        this.#client.simulateContract({ address, abi, functionName, args, value, account }),
      ]);
      if (!code) throw new AppError("contract_not_found", `There is no contract at ${address}.`);
    } catch (error) {
      if (error instanceof BaseError && error.walk((cause) => cause instanceof InsufficientFundsError))
        throw new AppError(
          "contract_refused",
          "The sender's balance does not cover the transaction's value.",
          {
            cause: error,
          },
        );
      throw contractError(functionName, error);
    }
  }
}
