import {
  type ContractFunctionArgs,
  type ContractFunctionName,
  type ContractFunctionReturnType,
  erc20Abi,
  type PublicClient,
  type ReadContractParameters,
  zeroAddress,
  zeroHash,
} from "viem";
import { AppError } from "../../kernel/errors.ts";
import { type Hex, lowerHex } from "../../kernel/text/hex.ts";
import { agentMarketAbi } from "../abi/agent-market.ts";
import { agentNftAbi } from "../abi/agent-nft.ts";
import { readTransferFacts } from "../agents/contracts/transfer-facts.client.ts";
import type { Move, TransferFacts } from "../agents/contracts/transfer-proof.ts";
import { contractError, refusalOf } from "../rpc/contract-error.ts";
import { refusedWith } from "../rpc/refused-with.ts";
import type { MarketContract } from "./market-contract.ts";
import type { MarketOrder } from "./typed-data.ts";

/** The market's parameters. Rates are in hundredths of a percent, mint fees in neuron. */
export type MarketTerms = {
  readonly admin: Hex;
  readonly version: string;
  readonly isPaused: boolean;
  readonly feeRate: number;
  readonly mintFee: bigint;
  readonly discountMintFee: bigint;
};

/** An account's balance of an ERC-20, and the market's allowance of it. */
export type CurrencyFunds = { readonly balance: bigint; readonly allowance: bigint };

type Abi = typeof agentMarketAbi;
type View = ContractFunctionName<Abi, "view">;

/** An invalid signature: the call cannot succeed with it, and the market checks the order first. */
const NO_SIGNATURE: Hex = `0x${"00".repeat(65)}`;
const MAX_VERSION = 64;

/**
 * Reads the market contract. Throws `contract_not_found` if no market is configured or its address has no contract,
 * `contract_refused` and `chain_error`.
 */
export class MarketClient {
  readonly #client: PublicClient;
  readonly #contract: MarketContract | undefined;

  constructor(client: PublicClient, contract: MarketContract | undefined) {
    this.#client = client;
    this.#contract = contract;
  }

  /** The configured market. */
  contract(): MarketContract {
    if (this.#contract) return this.#contract;
    throw new AppError("contract_not_found", "No agent token market is configured.");
  }

  async terms(): Promise<MarketTerms> {
    const [admin, version, isPaused, feeRate, mintFee, discountMintFee] = await Promise.all([
      this.read("admin", []),
      this.read("VERSION", []),
      this.read("isPaused", []),
      this.read("getFeeRate", []),
      this.read("getMintFee", []),
      this.read("getDiscountMintFee", []),
    ]);
    return {
      admin: lowerHex(admin),
      version: version.slice(0, MAX_VERSION),
      isPaused,
      feeRate: Number(feeRate),
      mintFee,
      discountMintFee,
    };
  }

  /** The result of a view function of the market. */
  async read<const Name extends View>(
    functionName: Name,
    args: ContractFunctionArgs<Abi, "view", Name>,
  ): Promise<ContractFunctionReturnType<Abi, "view", Name>>;
  // The body has the types of any view: viem's own cannot be followed through a name that is a parameter.
  async read(functionName: View, args: readonly unknown[]): Promise<unknown> {
    const { address } = this.contract();
    const call: ReadContractParameters = { address, abi: agentMarketAbi, functionName, args };
    return withContractError(`the market's ${functionName}`, this.#client.readContract(call));
  }

  /** The chain's time, in seconds: the newest block's timestamp, by which the market decides what has expired. */
  async nowSeconds(): Promise<bigint> {
    return (await withContractError("the newest block", this.#client.getBlock())).timestamp;
  }

  /** A token's owner in lower case, undefined if there is no such token. */
  async ownerOf(token: Hex, tokenId: bigint): Promise<Hex | undefined> {
    const call = { address: token, abi: agentNftAbi, functionName: "ownerOf", args: [tokenId] } as const;
    try {
      return lowerHex(await this.#client.readContract(call));
    } catch (cause) {
      if (refusedWith(cause, "ERC721NonexistentToken")) return undefined;
      throw contractError("the token's owner", cause);
    }
  }

  /** Whether the market may transfer a token of this owner. */
  async mayMove(token: Hex, tokenId: bigint, owner: Hex): Promise<boolean> {
    const { address } = this.contract();
    const nft = { address: token, abi: agentNftAbi } as const;
    const [approved, forAll] = await withContractError(
      "the token's approval",
      Promise.all([
        this.#client.readContract({ ...nft, functionName: "getApproved", args: [tokenId] }),
        this.#client.readContract({ ...nft, functionName: "isApprovedForAll", args: [owner, address] }),
      ]),
    );
    return forAll || lowerHex(approved) === address;
  }

  /** The chain's state that explains why a token's contract refused a transfer. Throws what viem throws. */
  transferFacts(token: Hex, tokenId: bigint, move: Move, refusal: string): Promise<TransferFacts> {
    return readTransferFacts(this.#client, { address: token, tokenId }, move, refusal);
  }

  /** An account's balance and allowance of an ERC-20. */
  async fundsOf(account: Hex, currency: Hex): Promise<CurrencyFunds> {
    const { address } = this.contract();
    const erc20 = { address: currency, abi: erc20Abi } as const;
    const [balance, allowance] = await withContractError(
      "the currency",
      Promise.all([
        this.#client.readContract({ ...erc20, functionName: "balanceOf", args: [account] }),
        this.#client.readContract({ ...erc20, functionName: "allowance", args: [account, address] }),
      ]),
    );
    return { balance, allowance };
  }

  /**
   * The contract error that an order alone would cause; undefined if none. The market has no function for this check,
   * so the call simulates fulfilling the order with an expired offer, which the market checks only after the order.
   * Nothing is sent.
   */
  async refusalOfOrder(order: MarketOrder, signature: Hex): Promise<string | undefined> {
    const offer = {
      tokenId: order.tokenId,
      offerPrice: order.expectedPrice,
      expireTime: 0n,
      nonce: zeroHash,
      needProof: false,
      signature: NO_SIGNATURE,
    };
    try {
      await this.#client.simulateContract({
        address: this.contract().address,
        abi: agentMarketAbi,
        functionName: "fulfillOrder",
        args: [orderArgument(order, signature), offer, []],
      });
    } catch (cause) {
      const refusal = refusalOf(cause);
      if (refusal === undefined) throw contractError("the market's check of an order", cause);
      return refusal === OFFER_EXPIRED ? undefined : refusal;
    }
    // A market that accepts an offer of 1970 has not rejected the order.
    return undefined;
  }
}

const OFFER_EXPIRED = "Offer expired";

/** An order as a call argument: with its signature, and zero addresses for missing fields. */
export function orderArgument({ currency, receiver, ...order }: MarketOrder, signature: Hex) {
  return { ...order, currency: currency ?? zeroAddress, receiver: receiver ?? zeroAddress, signature };
}

async function withContractError<T>(what: string, call: Promise<T>): Promise<T> {
  return call.catch((cause: unknown) => {
    throw contractError(what, cause);
  });
}
