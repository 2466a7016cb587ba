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
import { contractError, refusalOf } from "../rpc/contract-error.ts";
import { refusedWith } from "../rpc/refused-with.ts";
import type { MarketContract } from "./market-contract.ts";
import type { MarketOrder } from "./typed-data.ts";

/** The market's own numbers. Rates are in hundredths of a percent, fees of minting neuron. */
export type MarketTerms = {
  readonly admin: Hex;
  readonly version: string;
  readonly isPaused: boolean;
  readonly feeRate: number;
  readonly mintFee: bigint;
  readonly discountMintFee: bigint;
};

/** What an account has of an ERC-20, and how much of it the market may spend. */
export type CurrencyFunds = { readonly balance: bigint; readonly allowance: bigint };

type Abi = typeof agentMarketAbi;
type View = ContractFunctionName<Abi, "view">;
type Answer<Name extends View> = ContractFunctionReturnType<Abi, "view", Name>;

/** No signature at all: with it nothing comes to pass, and the market looks at the order first. */
const NO_SIGNATURE: Hex = `0x${"00".repeat(65)}`;
const MAX_VERSION = 64;

/**
 * Asks the chain about the market. Throws `contract_not_found` where none is configured or none is at its address,
 * `contract_refused` and `chain_error`.
 */
export class MarketClient {
  readonly #client: PublicClient;
  readonly #contract: MarketContract | undefined;

  constructor(client: PublicClient, contract: MarketContract | undefined) {
    this.#client = client;
    this.#contract = contract;
  }

  /** The market that is configured. */
  contract(): MarketContract {
    if (this.#contract) return this.#contract;
    throw new AppError("contract_not_found", "No market of agent tokens is configured here.");
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

  /** What a function of the market that changes nothing answers. */
  async read<const Name extends View>(
    functionName: Name,
    args: ContractFunctionArgs<Abi, "view", Name>,
  ): Promise<Answer<Name>> {
    const { address } = this.contract();
    // TypeScript cannot follow viem's types through a name that is itself a parameter.
    const call = { address, abi: agentMarketAbi, functionName, args } as unknown as ReadContractParameters;
    return (await asked(`the market's ${functionName}`, this.#client.readContract(call))) as Answer<Name>;
  }

  /** The chain's time, in seconds: that of its newest block, by which the market judges what has expired. */
  async nowSeconds(): Promise<bigint> {
    return (await asked("the newest block", this.#client.getBlock())).timestamp;
  }

  /** A token's owner in lower case, undefined where there is no such token. */
  async ownerOf(token: Hex, tokenId: bigint): Promise<Hex | undefined> {
    const call = { address: token, abi: agentNftAbi, functionName: "ownerOf", args: [tokenId] } as const;
    try {
      return lowerHex(await this.#client.readContract(call));
    } catch (cause) {
      if (refusedWith(cause, "ERC721NonexistentToken")) return undefined;
      throw contractError("the token's owner", cause);
    }
  }

  /** Whether the market may move a token of this owner. */
  async mayMove(token: Hex, tokenId: bigint, owner: Hex): Promise<boolean> {
    const { address } = this.contract();
    const nft = { address: token, abi: agentNftAbi } as const;
    const [approved, forAll] = await asked(
      "the token's approval",
      Promise.all([
        this.#client.readContract({ ...nft, functionName: "getApproved", args: [tokenId] }),
        this.#client.readContract({ ...nft, functionName: "isApprovedForAll", args: [owner, address] }),
      ]),
    );
    return forAll || lowerHex(approved) === address;
  }

  /** What an account could pay in an ERC-20. */
  async fundsOf(account: Hex, currency: Hex): Promise<CurrencyFunds> {
    const { address } = this.contract();
    const erc20 = { address: currency, abi: erc20Abi } as const;
    const [balance, allowance] = await asked(
      "the currency",
      Promise.all([
        this.#client.readContract({ ...erc20, functionName: "balanceOf", args: [account] }),
        this.#client.readContract({ ...erc20, functionName: "allowance", args: [account, address] }),
      ]),
    );
    return { balance, allowance };
  }

  /**
   * What the market has against an order by itself, in its own words; undefined when nothing. No function tells it, so
   * the market is asked to fulfil the order with an offer that is long over, of which it hears only when the order is
   * good. Nothing is sent.
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
      if (refusal === undefined) throw contractError("the market's word on an order", cause);
      return refusal === OFFER_EXPIRED ? undefined : refusal;
    }
    // A market that takes an offer of 1970 has said nothing against the order.
    return undefined;
  }
}

const OFFER_EXPIRED = "Offer expired";

/** An order as the call has it: the signature is inside, and so are zeros for what is not given. */
export function orderArgument({ currency, receiver, ...order }: MarketOrder, signature: Hex) {
  return { ...order, currency: currency ?? zeroAddress, receiver: receiver ?? zeroAddress, signature };
}

async function asked<T>(what: string, answer: Promise<T>): Promise<T> {
  return answer.catch((cause: unknown) => {
    throw contractError(what, cause);
  });
}
