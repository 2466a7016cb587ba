import {
  type Abi,
  BaseError,
  type ContractFunctionArgs,
  type ContractFunctionName,
  type EncodeFunctionDataParameters,
  encodeFunctionData,
  InsufficientFundsError,
  type PublicClient,
  type SimulateContractParameters,
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
  /** What is sent along, neuron. */
  readonly value?: bigint;
  /** Whose wallet it is; with it the call is tried on the chain first. */
  readonly from?: Hex | undefined;
  /** What the sender ought to know, in whole sentences. */
  readonly warnings?: readonly string[];
};

/** Makes unsigned transactions: nothing is ever sent from here, and no key is held. */
export class TransactionBuilder {
  readonly #client: PublicClient;
  readonly #chainId: number;

  constructor({ client, chainId }: { readonly client: PublicClient; readonly chainId: number }) {
    this.#client = client;
    this.#chainId = chainId;
  }

  /**
   * A transaction as a wallet takes it. With `from` the chain is asked what would become of it now: it throws
   * `contract_refused` with the contract's own error, `contract_not_found` where there is no such contract, or
   * `chain_error`. Without `from` the chain is not asked.
   */
  async prepare<const abi extends Abi, name extends ContractFunctionName<abi, "nonpayable" | "payable">>(
    call: WantedCall<abi, name>,
  ): Promise<PreparedTransaction> {
    const { to, abi, functionName, args, value = 0n, from, warnings = [] } = call;
    const data = encodeFunctionData({ abi, functionName, args } as EncodeFunctionDataParameters);
    if (from !== undefined)
      await this.#try({ address: to, abi, functionName, args, value, account: from } as unknown as Simulated);
    return {
      chainId: this.#chainId,
      from: from === undefined ? null : lowerHex(from),
      to: lowerHex(to),
      data,
      value,
      warnings,
    };
  }

  async #try(call: Simulated): Promise<void> {
    const { address, functionName } = call;
    try {
      // A call of a place without code succeeds, and money that is sent along would be lost.
      const [code] = await Promise.all([
        this.#client.getCode({ address }),
        this.#client.simulateContract(call),
      ]);
      if (!code) throw new AppError("contract_not_found", `There is no contract at ${address}.`);
    } catch (error) {
      if (error instanceof BaseError && error.walk((cause) => cause instanceof InsufficientFundsError))
        throw new AppError("contract_refused", "The sender has not the funds that the transaction sends.", {
          cause: error,
        });
      throw contractError(functionName, error);
    }
  }
}

type Simulated = SimulateContractParameters;
