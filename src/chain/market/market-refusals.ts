import type { Hex } from "../../kernel/text/hex.ts";
import { refusalName } from "../rpc/contract-error.ts";
import type { MarketOffer, MarketOrder } from "./typed-data.ts";

/** What is known of a deal that the market refused. */
export type Deal = {
  readonly order: MarketOrder;
  readonly offer?: MarketOffer;
  readonly market: Hex;
  readonly seller: Hex | undefined;
  readonly buyer?: Hex | undefined;
  readonly owner: Hex | undefined;
  /** The chain's time, seconds. */
  readonly nowSeconds: bigint;
};

/** Why the market refuses, in our words; `param` names the argument at fault. */
export type MarketExplanation = { readonly text: string; readonly param?: string };

/** Says what a refusal of the market means for this deal. Undefined where the refusal says it all. */
export function explainMarketRefusal(refusal: string, deal: Deal): MarketExplanation | undefined {
  const { order, offer, seller, buyer, owner, market, nowSeconds } = deal;
  switch (refusalName(refusal)) {
    case "Order expired":
      return { text: `it was good until ${order.expireTime}, and it is ${nowSeconds}`, param: "order" };
    case "Offer expired":
      return {
        text: `it was good until ${offer?.expireTime ?? 0n}, and it is ${nowSeconds}`,
        param: "offer",
      };
    case "Order already used":
      return {
        text: "an order with this nonce was fulfilled, this one or another's",
        param: "order",
      };
    case "Offer already used":
      return { text: "an offer with this nonce was used, this one or another's", param: "offer" };
    case "NFT owner mismatch":
      return {
        text: `the token belongs to ${owner ?? "nobody"}, and what was signed is signed by ${seller ?? "nobody"}: another account, or something of the order is not as it was signed`,
        param: "order",
      };
    case "ERC721NonexistentToken":
      return { text: "there is no such token", param: "order" };
    case "Price too low":
      return {
        text: `the offer has ${offer?.offerPrice ?? 0n}, and the order asks for ${order.expectedPrice}`,
        param: "offer",
      };
    case "TokenId mismatch":
      return { text: "order and offer are of different tokens", param: "offer" };
    case "Receiver mismatch":
      return {
        text: `the order is for ${order.receiver} alone, and the offer is signed by ${buyer ?? "nobody"}`,
        param: "offer",
      };
    case "Insufficient balance":
      return {
        text: "the buyer's balance in the market does not cover the price, and nothing is sent along",
        param: "payment",
      };
    case "ERC721InsufficientApproval":
      return {
        text: `the seller has not let the market (${market}) move the token: see prepareMarketApproval`,
        param: "order",
      };
    case "ERC20InsufficientAllowance":
      return {
        text: "the buyer has not let the market spend as much of the currency: see prepareCurrencyApproval",
        param: "offer",
      };
    case "ERC20InsufficientBalance":
      return { text: "the buyer has not as much of the currency", param: "offer" };
    case "ECDSAInvalidSignature":
    case "ECDSAInvalidSignatureLength":
    case "ECDSAInvalidSignatureS":
      return { text: "a signature is 65 bytes of the low kind, with 27 or 28 at their end" };
    case "EnforcedPause":
    case "Contract is paused":
      return { text: "the market is paused" };
    default:
      return undefined;
  }
}
