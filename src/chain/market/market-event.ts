import { decodeEventLog, toEventSelector, zeroAddress } from "viem";
import { type Hex, lowerHex } from "../../kernel/text/hex.ts";
import { agentMarketAbi } from "../abi/agent-market.ts";
import type { ChainLog } from "../watcher/log-handler.ts";

/** The kinds of market events that are stored. */
export type MarketEventKind =
  | "fulfilled"
  | "deposited"
  | "withdrawn"
  | "minted"
  | "fees-withdrawn"
  | "partner-fees-withdrawn"
  | "fee-rate-set"
  | "partner-rate-set"
  | "token-set";

/**
 * A decoded market log, in one shape for all kinds. `account` is the seller, depositor, partner, admin or new token
 * contract; `other` is the buyer, the recipient of a mint or the old token contract. `amount` is a price, a new
 * balance (deposited), an amount or a new rate; `previous` is an old rate. No `currency` means the network's token.
 */
export type MarketEvent = {
  readonly kind: MarketEventKind;
  readonly account: Hex;
  readonly other?: Hex;
  readonly tokenId?: bigint;
  readonly amount?: bigint;
  readonly previous?: bigint;
  readonly currency?: Hex;
};

const EVENT_NAMES = [
  "OrderFulfilled",
  "Deposit",
  "Withdraw",
  "PaidMinted",
  "FeesWithdrawn",
  "PartnerFeesWithdrawn",
  "FeeRateUpdated",
  "PartnerFeeRateUpdated",
  "AgentNFTUpdated",
] as const;

/** The first topics of the stored events. */
export const MARKET_TOPICS: readonly Hex[] = agentMarketAbi
  .filter((item) => item.type === "event")
  .filter(({ name }) => EVENT_NAMES.some((known) => known === name))
  .map((event) => toEventSelector(event));

/** Decodes a log with one of these topics. Throws if its layout does not match the event. */
export function readMarketLog({ topics, data }: ChainLog): MarketEvent {
  const { eventName, args } = decodeEventLog({
    abi: agentMarketAbi,
    topics: topics as [Hex, ...Hex[]],
    data,
  });
  switch (eventName) {
    case "OrderFulfilled":
      return {
        kind: "fulfilled",
        account: lowerHex(args.seller),
        other: lowerHex(args.buyer),
        tokenId: args.tokenId,
        amount: args.price,
        ...currencyOf(args.currency),
      };
    case "Deposit":
      return { kind: "deposited", account: lowerHex(args.account), amount: args.balance };
    case "Withdraw":
      return { kind: "withdrawn", account: lowerHex(args.account), amount: args.balance };
    case "PaidMinted":
      return {
        kind: "minted",
        account: lowerHex(args.from),
        other: lowerHex(args.to),
        tokenId: args.tokenId,
        amount: args.mintFee,
      };
    case "FeesWithdrawn":
      return {
        kind: "fees-withdrawn",
        account: lowerHex(args.admin),
        amount: args.amount,
        ...currencyOf(args.currency),
      };
    case "PartnerFeesWithdrawn":
      return {
        kind: "partner-fees-withdrawn",
        account: lowerHex(args.partner),
        amount: args.amount,
        ...currencyOf(args.currency),
      };
    case "FeeRateUpdated":
      return {
        kind: "fee-rate-set",
        account: zeroAddress,
        amount: args.newFeeRate,
        previous: args.oldFeeRate,
      };
    case "PartnerFeeRateUpdated":
      return {
        kind: "partner-rate-set",
        account: lowerHex(args.partner),
        amount: args.newRate,
        previous: args.oldRate,
      };
    case "AgentNFTUpdated":
      return { kind: "token-set", account: lowerHex(args.newAgentNFT), other: lowerHex(args.oldAgentNFT) };
    default:
      throw new Error(`${eventName} is not a supported market event`);
  }
}

function currencyOf(currency: Hex): { readonly currency?: Hex } {
  return currency === zeroAddress ? {} : { currency: lowerHex(currency) };
}
