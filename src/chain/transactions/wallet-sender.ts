import { keccak256, type PublicClient, TransactionReceiptNotFoundError } from "viem";
import { type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts";
import { type Hex, lowerHex } from "../../kernel/text/hex.ts";
import { chainError } from "../rpc/rpc.client.ts";
import { rpcReason } from "../rpc/rpc-errors.ts";

/** A signed transaction: however often it is sent, it is included at most once. */
export type SignedTransaction = { readonly raw: Hex; readonly hash: Hex };

type Dependencies = { readonly client: PublicClient; readonly chainId: number; readonly privateKey: Hex };

/**
 * Sends transactions of one wallet, in two steps: sign and store, then send. After a crash between the two, the caller
 * sends the same bytes again, and pays once. Every failure of the chain is a `chain_error`.
 */
export class WalletSender {
  readonly #dependencies: Dependencies;
  readonly #account: PrivateKeyAccount;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
    this.#account = privateKeyToAccount(dependencies.privateKey);
  }

  /** The wallet's address, in lower case. */
  get address(): Hex {
    return lowerHex(this.#account.address);
  }

  /** Signs a call with the wallet's next nonce. Only one may be pending at a time: two would use the same nonce. */
  async sign(call: {
    readonly to: Hex;
    readonly data: Hex;
    readonly value: bigint;
  }): Promise<SignedTransaction> {
    const { client, chainId } = this.#dependencies;
    const { address } = this.#account;
    try {
      const [nonce, gas, fees] = await Promise.all([
        client.getTransactionCount({ address, blockTag: "pending" }),
        client.estimateGas({ ...call, account: address }),
        client.estimateFeesPerGas(),
      ]);
      const raw = await this.#account.signTransaction({
        ...call,
        ...fees,
        ...{ chainId, nonce, gas: (gas * 6n) / 5n, type: "eip1559" },
      });
      return { raw, hash: keccak256(raw) };
    } catch (error) {
      throw chainError("a transaction could not be prepared", error);
    }
  }

  /** Sends a signed transaction; it can be repeated. `outdated`: another transaction used its nonce. */
  async send({ raw, hash }: SignedTransaction): Promise<"sent" | "outdated"> {
    try {
      await this.#dependencies.client.sendRawTransaction({ serializedTransaction: raw });
      return "sent";
    } catch (error) {
      const reason = rpcReason(error);
      if (/already (known|imported)/i.test(reason)) return "sent";
      // A node also says so of this transaction itself, if a block included it a moment ago.
      if (/nonce too low/i.test(reason)) return (await this.outcome(hash)) ? "sent" : "outdated";
      throw chainError("a transaction could not be sent", error);
    }
  }

  /** The outcome of a transaction; undefined until a block includes it. */
  async outcome(hash: Hex): Promise<"success" | "reverted" | undefined> {
    try {
      return (await this.#dependencies.client.getTransactionReceipt({ hash })).status;
    } catch (error) {
      if (error instanceof TransactionReceiptNotFoundError) return undefined;
      throw chainError("a receipt", error);
    }
  }
}
