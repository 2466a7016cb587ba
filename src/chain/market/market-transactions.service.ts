import { erc20Abi, zeroAddress } from "viem";
import { AppError } from "../../kernel/errors.ts";
import { type Hex, lowerHex } from "../../kernel/text/hex.ts";
import { agentMarketAbi } from "../abi/agent-market.ts";
import { agentNftAbi } from "../abi/agent-nft.ts";
import {
  type Explanation,
  explainRefusal,
  readProofs,
  type TransferProof,
  toProofArguments,
} from "../agents/contracts/transfer-proof.ts";
import { isUnfunded, refusalOf } from "../rpc/contract-error.ts";
import { strictSignerOf } from "../strict-signature.ts";
import type { PreparedTransaction } from "../transactions/prepared-transaction.ts";
import type { TransactionBuilder } from "../transactions/transaction-builder.ts";
import { type MarketClient, orderArgument } from "./market.client.ts";
import type { MarketService } from "./market.service.ts";
import { type MarketOrdersService, toOffer, toOrder } from "./market-orders.service.ts";
import { buyerOf, type Deal, explainMarketRefusal } from "./market-refusals.ts";
import {
  type MarketOffer,
  type MarketOrder,
  offerTypedData,
  orderTypedData,
  typedDataHash,
} from "./typed-data.ts";

export const PAYMENTS = ["sent", "balance"] as const;
/** How the network's token is paid: as the transaction's value, or from the buyer's balance in the market. */
export type Payment = (typeof PAYMENTS)[number];

/** An order and an offer to match. */
export type Match = {
  readonly order: MarketOrder;
  readonly orderSignature: Hex;
  readonly offer: MarketOffer;
  readonly offerSignature: Hex;
  /** One for each piece of the token's data, if the offer needs proofs. */
  readonly proofs: readonly TransferProof[];
  readonly payment: Payment;
  /** The sender of the transaction: any account, by default the buyer. */
  readonly from?: Hex | undefined;
};

type Dependencies = {
  readonly transactions: TransactionBuilder;
  readonly client: MarketClient;
  readonly market: MarketService;
  readonly orders: MarketOrdersService;
};

/**
 * Prepares unsigned transactions of the market. Each is simulated on the current chain state first. If it would
 * revert, it throws `contract_refused` with the contract's error and an explanation. Also throws what `MarketClient`
 * throws.
 */
export class MarketTransactionsService {
  readonly #dependencies: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** Fulfils an order with an offer: transfers the token, with its keys if the offer needs them, and pays the price. */
  async fulfill(match: Match): Promise<PreparedTransaction> {
    const { transactions, orders, market } = this.#dependencies;
    const [order, offer] = [toOrder(match.order), toOffer(match.offer)];
    const place = await orders.place();
    const [seller, buyer] = await Promise.all([
      strictSignerOf(typedDataHash(orderTypedData(place, order)), match.orderSignature),
      strictSignerOf(typedDataHash(offerTypedData(place, offer)), match.offerSignature),
    ]);
    const from = match.from ?? buyer;
    if (from === undefined)
      throw new AppError("invalid_parameter", "The offer's signature is invalid, so its buyer is unknown.", {
        param: "offerSignature",
      });
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
        warnings: fulfilmentWarnings(match, { feeRate, isSent, from, buyer }),
      });
    } catch (error) {
      throw await this.#explained(error, match, { order, offer, market: place.market, seller, buyer });
    }
  }

  /** Deposits to an account's balance in the market, neuron. */
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
      warnings: ["Anyone who has an offer signed by the account can have it paid from this balance."],
    });
  }

  /** Withdraws from an account's balance in the market, neuron; the account itself sends the transaction. */
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

  /** Withdraws a partner's fees in a currency; null is the network's token. The partner sends the transaction. */
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

  /** Approves the market for one token, as every order requires. The token's owner sends the transaction. */
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
      warnings: ["The approval ends when the token is transferred."],
    });
  }

  /** Sets the market's allowance of an ERC-20, in its smallest unit, as offers in it require; 0 revokes it. */
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
      toParam: "currency",
      abi: erc20Abi,
      functionName: "approve",
      args: [client.contract().address, amount],
      from,
      warnings: [
        "Offers name no currency: every offer you have signed can be paid in this one, up to this allowance.",
      ],
    });
  }

  async #explained(
    error: unknown,
    { proofs, from }: Match,
    known: Omit<Deal, "owner" | "nowSeconds">,
  ): Promise<unknown> {
    if (!(error instanceof AppError)) return error;
    // The default sender is what the offer's signature leads to.
    if (from === undefined && isUnfunded(error.cause))
      return refused(error, {
        text: `${error.message} Its sender is the buyer; ${buyerOf(known)}`,
        param: "offer",
      });
    const refusal = refusalOf(error.cause);
    if (refusal === undefined) return error;
    const { client, market } = this.#dependencies;
    try {
      const token = await market.token();
      const [owner, nowSeconds] = await Promise.all([
        client.ownerOf(token, known.order.tokenId),
        client.nowSeconds(),
      ]);
      const why =
        explainMarketRefusal(refusal, { ...known, owner, nowSeconds }) ??
        (await this.#explainProofs(refusal, token, proofs, known));
      return why ? refused(error, { ...why, text: `${refusal}: ${why.text}` }) : error;
    } catch {
      return error;
    }
  }

  /** Explains a refusal of the proofs by the token's contract, to which the market passes them. */
  async #explainProofs(
    refusal: string,
    token: Hex,
    proofs: readonly TransferProof[],
    { order, market, seller, buyer }: Omit<Deal, "owner" | "nowSeconds">,
  ): Promise<Explanation | undefined> {
    if (seller === undefined || buyer === undefined) return undefined;
    const move = { from: seller, to: buyer, sender: market, proofs: readProofs(proofs) };
    const facts = await this.#dependencies.client.transferFacts(token, order.tokenId, move, refusal);
    const why = await explainRefusal(refusal, move, facts);
    return why?.param?.startsWith("proofs") ? why : undefined;
  }
}

function refused(cause: AppError, { text, param }: Explanation): AppError {
  return new AppError("contract_refused", `${text}.`, { cause, ...(param && { param }) });
}

function fulfilmentWarnings(
  { offer, proofs }: Match,
  {
    feeRate,
    isSent,
    from,
    buyer,
  }: {
    readonly feeRate: number;
    readonly isSent: boolean;
    readonly from: Hex;
    readonly buyer: Hex | undefined;
  },
): readonly string[] {
  const isBuyer = lowerHex(from) === buyer;
  return [
    ...(feeRate > 0 ? [`The market's fee is ${feeRate / 100} % of the price.`] : []),
    ...(isSent && !isBuyer
      ? [`The sender pays the price, and the signer of the offer, ${buyer}, receives the token.`]
      : []),
    ...(offer.needProof
      ? []
      : ["The token is transferred without its sealed keys: the buyer cannot decrypt its data."]),
    ...(!offer.needProof && proofs.length > 0
      ? ["The offer needs no proofs, so the market ignores them."]
      : []),
  ];
}
