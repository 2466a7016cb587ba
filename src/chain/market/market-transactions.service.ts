import { erc20Abi, zeroAddress } from "viem";
import { AppError } from "../../kernel/errors.ts";
import { type Hex, lowerHex } from "../../kernel/text/hex.ts";
import { agentMarketAbi } from "../abi/agent-market.ts";
import { agentNftAbi } from "../abi/agent-nft.ts";
import { type TransferProof, toProofArguments } from "../agents/transfer-proof.ts";
import { refusalOf } from "../rpc/contract-error.ts";
import type { PreparedTransaction } from "../transactions/prepared-transaction.ts";
import type { TransactionBuilder } from "../transactions/transaction-builder.ts";
import { type MarketClient, orderArgument } from "./market.client.ts";
import type { MarketService } from "./market.service.ts";
import { type MarketOrdersService, toOffer, toOrder } from "./market-orders.service.ts";
import { type Deal, explainMarketRefusal } from "./market-refusals.ts";
import { signerOf } from "./market-signature.ts";
import {
  type MarketOffer,
  type MarketOrder,
  offerTypedData,
  orderTypedData,
  typedDataHash,
} from "./typed-data.ts";

export const PAYMENTS = ["sent", "balance"] as const;
/** How the network's token is paid: sent along by whoever sends the transaction, or out of the buyer's balance. */
export type Payment = (typeof PAYMENTS)[number];

/** An order and an offer that meet. */
export type Match = {
  readonly order: MarketOrder;
  readonly orderSignature: Hex;
  readonly offer: MarketOffer;
  readonly offerSignature: Hex;
  /** One for each piece of the token's data, where the offer needs them. */
  readonly proofs: readonly TransferProof[];
  readonly payment: Payment;
  /** Who will send it: anybody may; the buyer unless it is given. */
  readonly from?: Hex | undefined;
};

type Dependencies = {
  readonly transactions: TransactionBuilder;
  readonly client: MarketClient;
  readonly market: MarketService;
  readonly orders: MarketOrdersService;
};

/**
 * Makes the transactions of the market, unsigned. Each is tried on the chain as it is first, and one that would be
 * refused is not given out: the failure is `contract_refused` with what the contract would say and what that means. Also
 * throws what `MarketClient` throws.
 */
export class MarketTransactionsService {
  readonly #dependencies: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** Fulfils an order with an offer: the token moves, with its keys where the offer needs them, and the price is paid. */
  async fulfill(match: Match): Promise<PreparedTransaction> {
    const { transactions, orders, market } = this.#dependencies;
    const [order, offer] = [toOrder(match.order), toOffer(match.offer)];
    const place = await orders.place();
    const [seller, buyer] = await Promise.all([
      signerOf(typedDataHash(orderTypedData(place, order)), match.orderSignature),
      signerOf(typedDataHash(offerTypedData(place, offer)), match.offerSignature),
    ]);
    const from = match.from ?? buyer;
    if (from === undefined)
      throw new AppError(
        "invalid_parameter",
        "The offer's signature is none, so that its buyer is unknown.",
        {
          param: "offerSignature",
        },
      );
    const isSent = order.currency === null && match.payment === "sent";
    const { feeRate } = await market.state();
    try {
      return await transactions.prepare({
        to: place.market,
        abi: agentMarketAbi,
        functionName: "fulfillOrder",
        args: [
          orderArgument(order, match.orderSignature),
          { ...offer, signature: match.offerSignature },
          offer.needProof ? toProofArguments(match.proofs) : [],
        ],
        value: isSent ? offer.offerPrice : 0n,
        from,
        warnings: fulfilmentWarnings(match, { feeRate, isSent, isBuyer: lowerHex(from) === buyer }),
      });
    } catch (error) {
      throw await this.#explained(error, { order, offer, market: place.market, seller, buyer });
    }
  }

  /** Puts money into an account's balance in the market, neuron. */
  async deposit({
    account,
    amount,
    from,
  }: {
    account: Hex;
    amount: bigint;
    from?: Hex | undefined;
  }): Promise<PreparedTransaction> {
    const { transactions, client } = this.#dependencies;
    return transactions.prepare({
      to: client.contract().address,
      abi: agentMarketAbi,
      functionName: "deposit",
      args: [account],
      value: amount,
      from,
      warnings: ["Offers that the account has signed may be paid out of this balance, by whoever has them."],
    });
  }

  /** Takes money out of an account's balance in the market, neuron; the account itself sends it. */
  async withdraw({ account, amount }: { account: Hex; amount: bigint }): Promise<PreparedTransaction> {
    const { transactions, client } = this.#dependencies;
    return transactions.prepare({
      to: client.contract().address,
      abi: agentMarketAbi,
      functionName: "withdraw",
      args: [account, amount],
      from: account,
    });
  }

  /** Pays a partner its fees of a currency; null is the network's token. The partner sends it. */
  async withdrawPartnerFees({
    partner,
    currency,
  }: {
    partner: Hex;
    currency: Hex | null;
  }): Promise<PreparedTransaction> {
    const { transactions, client } = this.#dependencies;
    return transactions.prepare({
      to: client.contract().address,
      abi: agentMarketAbi,
      functionName: "withdrawPartnerFees",
      args: [currency ?? zeroAddress],
      from: partner,
    });
  }

  /** Lets the market move one token, as every order needs. Its owner sends it. */
  async approveToken(tokenId: bigint): Promise<PreparedTransaction> {
    const { transactions, client, market } = this.#dependencies;
    const token = await market.token();
    const owner = await client.ownerOf(token, tokenId);
    if (owner === undefined) throw new AppError("not_found", "There is no such token.", { param: "tokenId" });
    return transactions.prepare({
      to: token,
      abi: agentNftAbi,
      functionName: "approve",
      args: [client.contract().address, tokenId],
      from: owner,
      warnings: ["It ends when the token moves."],
    });
  }

  /** Lets the market spend so much of an ERC-20, in its smallest unit, as offers in it need; 0 for nothing any more. */
  async approveCurrency({
    currency,
    amount,
    from,
  }: {
    currency: Hex;
    amount: bigint;
    from: Hex;
  }): Promise<PreparedTransaction> {
    const { transactions, client } = this.#dependencies;
    return transactions.prepare({
      to: currency,
      abi: erc20Abi,
      functionName: "approve",
      args: [client.contract().address, amount],
      from,
      warnings: [
        "Offers name no currency: each that you have signed may be paid in this one, as far as this goes.",
      ],
    });
  }

  async #explained(error: unknown, known: Omit<Deal, "owner" | "nowSeconds">): Promise<unknown> {
    const refusal = error instanceof AppError ? refusalOf(error.cause) : undefined;
    if (refusal === undefined) return error;
    const { client, market } = this.#dependencies;
    try {
      const token = await market.token();
      const [owner, nowSeconds] = await Promise.all([
        client.ownerOf(token, known.order.tokenId),
        client.nowSeconds(),
      ]);
      const why = explainMarketRefusal(refusal, { ...known, owner, nowSeconds });
      if (!why) return error;
      const param = why.param === undefined ? {} : { param: why.param };
      return new AppError("contract_refused", `${refusal}: ${why.text}.`, { cause: error, ...param });
    } catch {
      return error;
    }
  }
}

function fulfilmentWarnings(
  { offer, proofs }: Match,
  { feeRate, isSent, isBuyer }: { feeRate: number; isSent: boolean; isBuyer: boolean },
): readonly string[] {
  return [
    ...(feeRate > 0 ? [`Of the price, ${feeRate / 100} % is the market's fee.`] : []),
    ...(isSent && !isBuyer ? ["The sender pays the price, and the buyer has the token."] : []),
    ...(offer.needProof
      ? []
      : ["The token moves without its sealed keys: the buyer cannot decrypt its data by it."]),
    ...(!offer.needProof && proofs.length > 0
      ? ["The offer needs no proofs, so the market leaves them aside."]
      : []),
  ];
}
