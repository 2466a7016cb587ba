import { keccak256, type PublicClient, parseTransaction, TransactionReceiptNotFoundError } from "viem";
import { type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts";
import { type Hex, lowerHex } from "../../kernel/text/hex.ts";
import { chainError } from "../rpc/rpc.client.ts";
import { rpcReason } from "../rpc/rpc-errors.ts";

/** A signed transaction: however often it is sent, it is included at most once. */
export type SignedTransaction = { readonly raw: Hex; readonly hash: Hex };

type Dependencies = {
  readonly client: PublicClient;
  readonly chainId: number;
  readonly privateKey: Hex;
  /** How many blocks must follow the one with another transaction of the same nonce before one counts as outdated. */
  readonly confirmations: number;
};

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

  /**
   * Sends a signed transaction; it can be repeated. `outdated`: another transaction used its nonce, as all backends of
   * an endpoint must know by now.
   */
  async send({ raw, hash }: SignedTransaction): Promise<"sent" | "outdated"> {
    try {
      await this.#dependencies.client.sendRawTransaction({ serializedTransaction: raw });
      return "sent";
    } catch (error) {
      const reason = rpcReason(error);
      if (/already (known|imported)/i.test(reason)) return "sent";
      if (/nonce too low/i.test(reason)) return (await this.#isReplaced({ raw, hash })) ? "outdated" : "sent";
      throw chainError("a transaction could not be sent", error);
    }
  }

  /**
   * Whether another transaction used the nonce. A node also says so of this transaction itself, if a block included it a
   * moment ago, and another backend may not have its receipt yet: to sign again then would pay twice. So the nonce must
   * have been used some blocks ago, before the receipt is looked for.
   */
  async #isReplaced({ raw, hash }: SignedTransaction): Promise<boolean> {
    const { client, confirmations } = this.#dependencies;
    const { address } = this.#account;
    try {
      const blockNumber = (await client.getBlockNumber({ cacheTime: 0 })) - BigInt(confirmations);
      if (blockNumber < 0n) return false;
      const used = await client.getTransactionCount({ address, blockNumber });
      if (used <= (parseTransaction(raw).nonce ?? 0)) return false;
    } catch (error) {
      throw chainError("the wallet's nonce", error);
    }
    return (await this.outcome(hash)) === undefined;
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
