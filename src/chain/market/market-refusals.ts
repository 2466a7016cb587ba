import type { Hex } from "../../kernel/text/hex.ts";
import { refusalName } from "../rpc/contract-error.ts";
import type { MarketOffer, MarketOrder } from "./typed-data.ts";

/** The known facts of a deal that the market refused. */
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

/** An explanation of a market error; `param` names the argument at fault. */
export type MarketExplanation = { readonly text: string; readonly param?: string };

/** Explains what a market error means for this deal. Undefined if the error needs no explanation. */
export function explainMarketRefusal(refusal: string, deal: Deal): MarketExplanation | undefined {
  const { order, offer, seller, buyer, owner, market, nowSeconds } = deal;
  switch (refusalName(refusal)) {
    case "Order expired":
      return { text: `it expired at ${order.expireTime}, and the time is ${nowSeconds}`, param: "order" };
    case "Offer expired":
      return {
        text: `it expired at ${offer?.expireTime ?? 0n}, and the time is ${nowSeconds}`,
        param: "offer",
      };
    case "Order already used":
      return {
        text: "an order with this nonce was fulfilled: this one, or one of another account",
        param: "order",
      };
    case "Offer already used":
      return {
        text: "an offer with this nonce was used: this one, or one of another account",
        param: "offer",
      };
    case "NFT owner mismatch":
      return {
        text: `the token belongs to ${owner ?? "no account"}, but the order is signed by ${seller ?? "an unknown signer"}: another account signed it, or a field differs from the signed order`,
        param: "order",
      };
    case "ERC721NonexistentToken":
      return { text: "there is no such token", param: "order" };
    case "Price too low":
      return {
        text: `the offer is ${offer?.offerPrice ?? 0n}, and the order asks for ${order.expectedPrice}`,
        param: "offer",
      };
    case "TokenId mismatch":
      return { text: "the order and the offer name different tokens", param: "offer" };
    case "Receiver mismatch":
      return {
        text: `only ${order.receiver} may buy, but the offer is signed by ${buyer ?? "an unknown signer"}`,
        param: "offer",
      };
    case "Insufficient balance":
      return {
        text: `the buyer's balance in the market does not cover the price, and the transaction sends no value; ${buyerOf(deal)}`,
        param: "payment",
      };
    case "ERC721InsufficientApproval":
      return {
        text: `the seller has not approved the market (${market}) for the token: see prepareMarketApproval`,
        param: "order",
      };
    case "ERC20InsufficientAllowance":
      return {
        text: `the buyer's allowance for the market does not cover the price: see prepareCurrencyApproval; ${buyerOf(deal)}`,
        param: "offer",
      };
    case "ERC20InsufficientBalance":
      return {
        text: `the buyer's balance of the currency does not cover the price; ${buyerOf(deal)}`,
        param: "offer",
      };
    case "SafeERC20FailedOperation":
    case "AddressEmptyCode":
      return { text: `the contract at ${order.currency} is not an ERC-20`, param: "order.currency" };
    case "ECDSAInvalidSignature":
    case "ECDSAInvalidSignatureLength":
    case "ECDSAInvalidSignatureS":
      // With both signers known, the signature of a proof is at fault.
      return seller !== undefined && buyer !== undefined
        ? undefined
        : {
            text: "a signature must be 65 bytes with a low s, and end in 27 or 28",
            param: seller === undefined ? "orderSignature" : "offerSignature",
          };
    case "EnforcedPause":
    case "Contract is paused":
      return { text: "the market is paused" };
    default:
      return undefined;
  }
}

/**
 * What is known of the buyer of a match whose payment failed. A changed offer has a valid signature too: of an unrelated
 * address, which has no funds.
 */
export function buyerOf({ buyer }: Pick<Deal, "buyer">): string {
  return `the offer's signature is by ${buyer ?? "an unknown signer"}: if this is not the buyer, another account signed the offer, or a field differs from the signed offer`;
}
