import { keccak256, type PublicClient, parseTransaction, TransactionReceiptNotFoundError } from "viem";
import { type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts";
import { type Hex, lowerHex } from "../../kernel/text/hex.ts";
import { chainError } from "../rpc/rpc.client.ts";
import { rpcReason } from "../rpc/rpc-errors.ts";

/** A signed transaction: however often it is sent, it is included at most once. */
export type SignedTransaction = {
  readonly raw: Hex;
  readonly hash: Hex;
  /** The transactions with the same nonce and lower fees that it replaces. One of them may be included instead. */
  readonly replaced: readonly Hex[];
};

type Dependencies = {
  readonly client: PublicClient;
  readonly chainId: number;
  readonly privateKey: Hex;
  /** How many blocks must follow the one with another transaction of the same nonce before one counts as outdated. */
  readonly confirmations: number;
};

/** How nodes refuse a fee: geth and its relatives, then Cosmos chains with an EVM. */
const UNDERPRICED =
  /underpriced|fee per gas less than block base fee|fee ?cap less than|insufficient fee|gas price.* too low/i;

/** Nodes accept a replacement whose fees are 10 % higher, some 12.5 %. */
function raisedFee(former: bigint | undefined, current: bigint): bigint {
  const least = ((former ?? 0n) * 9n) / 8n + 1n;
  return current > least ? current : least;
}

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
      return { raw, hash: keccak256(raw), replaced: [] };
    } catch (error) {
      throw chainError("a transaction could not be prepared", error);
    }
  }

  /** A replacement with higher fees if the base fee has risen so far that blocks may not include the transaction. */
  async repriced(signed: SignedTransaction): Promise<SignedTransaction | undefined> {
    try {
      const { baseFeePerGas } = await this.#dependencies.client.getBlock();
      const { maxFeePerGas = 0n, maxPriorityFeePerGas = 0n } = parseTransaction(signed.raw);
      if (maxFeePerGas - maxPriorityFeePerGas >= (baseFeePerGas ?? 0n)) return undefined;
    } catch (error) {
      throw chainError("the base fee", error);
    }
    return this.raised(signed);
  }

  /** A replacement with the current fees, or with as much more as nodes require of one. */
  async raised({ raw, hash, replaced }: SignedTransaction): Promise<SignedTransaction> {
    const { to, data, value, gas, nonce, maxFeePerGas, maxPriorityFeePerGas } = parseTransaction(raw);
    try {
      const fees = await this.#dependencies.client.estimateFeesPerGas();
      const higher = await this.#account.signTransaction({
        ...{ to, data, value, gas, nonce, chainId: this.#dependencies.chainId, type: "eip1559" },
        maxFeePerGas: raisedFee(maxFeePerGas, fees.maxFeePerGas),
        maxPriorityFeePerGas: raisedFee(maxPriorityFeePerGas, fees.maxPriorityFeePerGas),
      });
      return { raw: higher, hash: keccak256(higher), replaced: [hash, ...replaced] };
    } catch (error) {
      throw chainError("a transaction could not be replaced", error);
    }
  }

  /**
   * Sends a signed transaction; it can be repeated. `outdated`: another transaction used its nonce, as all backends of
   * an endpoint must know by now. `underpriced`: the node demands higher fees.
   */
  async send(signed: SignedTransaction): Promise<"sent" | "outdated" | "underpriced"> {
    try {
      await this.#dependencies.client.sendRawTransaction({ serializedTransaction: signed.raw });
      return "sent";
    } catch (error) {
      const reason = rpcReason(error);
      if (/already (known|imported)/i.test(reason)) return "sent";
      if (/nonce too low/i.test(reason)) return (await this.#isReplaced(signed)) ? "outdated" : "sent";
      if (UNDERPRICED.test(reason)) return "underpriced";
      throw chainError("a transaction could not be sent", error);
    }
  }

  /**
   * Whether another transaction used the nonce. A node also says so of this transaction itself, if a block included it a
   * moment ago, and another backend may not have its receipt yet: to sign again then would pay twice. So the nonce must
   * have been used some blocks ago, before the receipt is looked for.
   */
  async #isReplaced(signed: SignedTransaction): Promise<boolean> {
    const { client, confirmations } = this.#dependencies;
    const { address } = this.#account;
    try {
      const blockNumber = (await client.getBlockNumber({ cacheTime: 0 })) - BigInt(confirmations);
      if (blockNumber < 0n) return false;
      const used = await client.getTransactionCount({ address, blockNumber });
      if (used <= (parseTransaction(signed.raw).nonce ?? 0)) return false;
    } catch (error) {
      throw chainError("the wallet's nonce", error);
    }
    return (await this.outcome(signed)) === undefined;
  }

  /** The outcome of a transaction, or of one that it replaces; undefined until a block includes one of them. */
  async outcome({ hash, replaced }: SignedTransaction): Promise<"success" | "reverted" | undefined> {
    for (const each of [hash, ...replaced]) {
      const outcome = await this.#outcomeOf(each);
      if (outcome) return outcome;
    }
    return undefined;
  }

  async #outcomeOf(hash: Hex): Promise<"success" | "reverted" | undefined> {
    try {
      return (await this.#dependencies.client.getTransactionReceipt({ hash })).status;
    } catch (error) {
      if (error instanceof TransactionReceiptNotFoundError) return undefined;
      throw chainError("a receipt", error);
    }
  }
}
