import {
  type Abi,
  type ContractFunctionArgs,
  type ContractFunctionName,
  encodeFunctionData,
  type PublicClient,
} from "viem";
import { AppError } from "../../kernel/errors.ts";
import { type Hex, lowerHex } from "../../kernel/text/hex.ts";
import { contractError, isUnfunded } from "../rpc/contract-error.ts";
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
  /** The argument that the client sent with the address of the contract, if it did: an error about it names this. */
  readonly toParam?: string;
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

  async #simulate({
    to: address,
    toParam: param,
    abi,
    functionName,
    args,
    value,
    from: account,
  }: WantedCall): Promise<void> {
    const call = { address, abi, functionName, args, value, account };
    const simulated = this.#client.simulateContract(call).then(
      () => undefined,
      (cause: unknown) => contractError(functionName, cause),
    );
    // A call of an address without code succeeds, and its value would be lost.
    const code = await this.#client.getCode({ address }).catch((cause: unknown) => {
      throw contractError("the contract's code", cause);
    });
    const failure = await simulated;
    const cause = failure?.cause;
    if (!code)
      throw new AppError("contract_not_found", `There is no contract at ${address}.`, {
        cause,
        ...(param && { param }),
      });
    if (isUnfunded(cause))
      throw new AppError("contract_refused", "The sender's balance does not cover the transaction's value.", {
        cause,
        param: "from",
      });
    if (failure?.code === "contract_not_found")
      throw new AppError(
        "contract_not_found",
        `The contract at ${address} has no function ${functionName}.`,
        {
          cause,
          ...(param && { param }),
        },
      );
    if (failure?.code === "contract_refused" && param)
      throw new AppError(failure.code, failure.message, { cause, param });
    if (failure) throw failure;
  }
}
